"""The paper's worked examples in compiled languages: the local builder alone finds that the target leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness, Language
from pytest_funcmem.core.registry import load
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.sandbox.choice import open_sandbox

CASES: dict[Language, tuple[str, str]] = {
    "c": ("07_determine_card_brand.c", "determine_card_brand"),
    "java": ("08_tickets.java", "Line.Tickets"),
}

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]


def completion_of(path: Path, key: str) -> str:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return next(str(row["completion"]) for row in rows if row["function"] == key)


@pytest.mark.parametrize("language", CASES)
def test_the_target_does_what_the_original_does_and_the_reference_does_not(
    docker_engine: None, shared_dir: Path, language: Language
) -> None:
    cases = shared_dir / "cases"
    name, qualname = CASES[language]
    frontend = load("language", language)()
    text = (cases / "sources" / name).read_text(encoding="utf-8")
    function = next(item for item in frontend.scan(text, path=name).functions if item.qualname == qualname)
    builder = load("builder", f"local/{language}").from_settings(Settings(budget=600.0))
    scores = {}
    with open_sandbox("docker", programs=programs_of(language), workers=1, language=language) as sandbox:
        harness = builder.build(function, sandbox, seed=0)
        assert isinstance(harness, Harness), harness
        for side in ("target", "reference"):
            code = frontend.candidate(function, completion_of(cases / f"{side}.jsonl", function.key)).code
            assert code is not None
            run = execute(
                sandbox,
                spliced_program(function, harness.scaffold, code),
                harness.states,
                coverage=False,
                state_timeout_s=harness.state_timeout_s,
            )
            scores[side] = similarity(harness.expected, run.outputs)[0]
    assert scores["target"] >= 0.8
    assert scores["reference"] <= 0.3
    assert harness.evidence.coverage >= 0.8
