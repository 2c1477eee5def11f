"""Headers, items and packages of the standard library that only a candidate uses."""

from __future__ import annotations

import json

import pytest

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness, InputState, Language, OutputState
from pytest_funcmem.harness.compiled.toolkit import Prepared, toolkit_for
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.harness.proving import prove_states
from pytest_funcmem.harness.widening.compiled_lacks import compiled_lack
from pytest_funcmem.harness.widening.widen import Widened, lacks_of_candidate, widen
from pytest_funcmem.languages import frontend
from pytest_funcmem.sandbox.choice import open_sandbox

C = """
int score(int kind, int limit)
{
    int total = 0;
    for (int i = 0; i < limit && i < 50; i++) {
        total += kind % 90;
        if (total > 100)
            total -= 7;
    }
    return total;
}
"""
C_CANDIDATE = """int score(int kind, int limit)
{
    int64_t total = 0;
    int end = limit > 50 ? 50 : limit;
    if (end == INT_MAX)
        return 1;
    while (end-- > 0) {
        total += kind % 90;
        total -= total > 100 ? 7 : 0;
    }
    return (int) total;
}"""
RUST = """
pub fn score(text: &str, limit: usize) -> i64 {
    let mut total = 0;
    for (i, c) in text.chars().enumerate() {
        if i >= limit {
            break;
        }
        if c == 'a' || c == 'e' {
            total += 3;
        } else {
            total -= 1;
        }
    }
    total
}
"""
RUST_CANDIDATE = """pub fn score(text: &str, limit: usize) -> i64 {
    let high: HashSet<char> = ['a', 'e'].into_iter().collect();
    text.chars().take(limit).map(|c| if high.contains(&c) { 3 } else { -1 }).sum()
}"""
GO = """package words

func Score(text string, limit int) int {
	total := 0
	for i, c := range text {
		if i >= limit {
			break
		}
		if c == 'a' || c == 'e' {
			total += 3
		} else {
			total -= 1
		}
	}
	return total
}
"""
GO_CANDIDATE = """func Score(text string, limit int) int {
	total := 0
	for i, c := range text {
		if i >= limit {
			return total
		}
		if strings.ContainsRune("ae", c) {
			total += 3
		} else if utf8.RuneLen(c) != 0 {
			total--
		}
	}
	return total
}"""


def unloadable(detail: str) -> OutputState:
    return OutputState(outcome="unloadable", detail=detail)


@pytest.mark.parametrize(
    ("language", "detail", "lack"),
    [
        ("c", "function.c:3:3: error: unknown type name \u2018uint8_t\u2019", "#include <stdint.h>"),
        (
            "c",
            "function.c:3:15: error: 'INT_MAX' undeclared (first use in this function)",
            "#include <limits.h>",
        ),
        ("c", "function.c:3:15: error: 'HELPERS' undeclared (first use in this function)", None),
        ("c", "function.c:3:15: error: expected ';' before 'uint8_t'", None),
        ("c", "helpers.c:3:15: error: unknown type name 'uint8_t'", None),
        (
            "rust",
            "error[E0433]: cannot find type `HashMap` in this scope (line 2)",
            "use std::collections::HashMap;",
        ),
        ("rust", "error[E0433]: failed to resolve: use of unresolved module `mem`", "use std::mem;"),
        ("rust", "error[E0425]: cannot find function `helper` in this scope", None),
        ("rust", "error[E0308]: mismatched types: expected `HashMap`", None),
        ("go", "function.go:2: undefined: strings", 'import "strings"'),
        ("go", "function.go:2: undefined: utf8", 'import "unicode/utf8"'),
        ("go", "function.go:2: undefined: parseHour", None),
        ("java", "cannot find symbol", None),
        ("python", "NameError: name 'math' is not defined", None),
    ],
)
def test_only_what_the_message_names_and_the_standard_library_has(
    language: Language, detail: str, lack: str | None
) -> None:
    assert compiled_lack(language, unloadable(detail)) == lack
    assert compiled_lack(language, OutputState(outcome="returned", detail=detail)) is None


@pytest.mark.docker
@pytest.mark.parametrize(
    ("language", "path", "source", "candidate", "lacks"),
    [
        ("c", "score.c", C, C_CANDIDATE, ("#include <limits.h>", "#include <stdint.h>")),
        ("rust", "score.rs", RUST, RUST_CANDIDATE, ("use std::collections::HashSet;",)),
        ("go", "score.go", GO, GO_CANDIDATE, ('import "strings"', 'import "unicode/utf8"')),
    ],
)
def test_a_candidate_compiles_once_it_has_what_it_lacked(
    docker_engine: None, language: Language, path: str, source: str, candidate: str, lacks: tuple[str, ...]
) -> None:
    function = frontend(language).scan(source, path=path).functions[-1]
    given = [InputState(seed=seed) for seed in range(1, 15)]
    settings = Settings(budget=300.0)
    with open_sandbox("docker", programs=programs_of(language), workers=1, language=language) as sandbox:
        prepared = toolkit_for(language).prepare(function, sandbox, check_time=lambda: None)
        assert isinstance(prepared, Prepared), prepared
        harness = prove_states(function, prepared.scaffold, given, sandbox, settings, builder="local/1")
        assert isinstance(harness, Harness), harness

        def run(harness: Harness) -> tuple[OutputState, ...]:
            program = spliced_program(function, harness.scaffold, candidate)
            return execute(
                sandbox, program, harness.states, coverage=False, state_timeout_s=harness.state_timeout_s
            ).outputs

        outputs = run(harness)
        assert {output.outcome for output in outputs} == {"unloadable"}
        assert lacks_of_candidate(function, harness, candidate, outputs, sandbox) == lacks
        found = widen(function, harness, lacks, sandbox, settings)
        assert isinstance(found, Widened), found
        assert found.lacks == lacks
        score, _ = similarity(found.harness.expected, run(found.harness))
    assert score == 1.0
    assert len(found.harness.states) == len(harness.states)
    assert similarity(harness.expected, found.harness.expected)[0] == 1.0
    assert found.harness.evidence.strength == harness.evidence.strength
    assert found.harness.builder == "local/1, widened: " + "; ".join(lacks)
    assert json.dumps(found.harness.scaffold.files) != json.dumps(harness.scaffold.files)
