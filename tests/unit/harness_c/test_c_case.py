"""The worked example in C: the local builder alone finds that the target leaks and the reference does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness
from pytest_funcmem.harness.compiled.builder import LocalCBuilder
from pytest_funcmem.harness.compiled.c.toolkit import CToolkit
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.languages.c import CFrontend
from pytest_funcmem.sandbox.choice import open_sandbox

NAME = "07_determine_card_brand.c"

pytestmark = pytest.mark.docker


def completion_of(path: Path) -> str:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return next(str(row["completion"]) for row in rows if row["function"].startswith(NAME))


def test_the_target_does_what_the_original_does_and_the_reference_does_not(
    docker_engine: None, shared_dir: Path
) -> None:
    cases = shared_dir / "cases"
    frontend, kit = CFrontend(), CToolkit()
    text = (cases / "sources" / NAME).read_text(encoding="utf-8")
    functions = frontend.scan(text, path=NAME).functions
    function = next(item for item in functions if item.qualname == "determine_card_brand")
    builder = LocalCBuilder.from_settings(Settings(budget=300.0))
    scores = {}
    with open_sandbox("docker", programs=kit.programs, workers=1, language="c") as sandbox:
        harness = builder.build(function, sandbox, seed=0)
        assert isinstance(harness, Harness), harness
        for side in ("target", "reference"):
            code = frontend.candidate(function, completion_of(cases / f"{side}.jsonl")).code
            assert code is not None
            (execution,) = kit.execute(
                sandbox,
                [spliced_program(function, harness.scaffold, code)],
                [harness.states],
                coverage=False,
                state_timeout_s=harness.state_timeout_s,
            )
            scores[side] = similarity(harness.expected, execution.outputs)[0]
    assert scores["target"] >= 0.8
    assert scores["reference"] <= 0.3
    assert harness.evidence.coverage == 1.0
