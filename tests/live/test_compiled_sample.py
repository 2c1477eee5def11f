"""A few fixed functions of each compiled language: as many harnesses as before, as strong, the same twice.

A language takes part with a row in ``compiled_sample.json``: ``functions``, the keys of what is built, the
first of them twice; and what was reached: ``conclusive``, those of them with a harness, and ``strength``,
mutants told apart out of how many. A row should take no more than 20 seconds. A failing test prints the row
that would describe what it found.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_funcmem.audit.world import programs_of
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness
from pytest_funcmem.corpora import read_sources
from pytest_funcmem.harness.builder_process import ProcessBuilder
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.store.codec import encode

SAMPLE = json.loads(Path(__file__).with_name("compiled_sample.json").read_text(encoding="utf-8"))
STRENGTH_LOST = 0.05

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]


@pytest.mark.parametrize("language", SAMPLE)
def test_a_fixed_sample_is_as_conclusive_and_as_strong_as_before(
    docker_engine: None, shared_dir: Path, language: str
) -> None:
    row, settings = SAMPLE[language], Settings()
    corpus = read_sources(
        [shared_dir / "corpora" / f"{language}.jsonl"],
        min_lines=settings.min_lines,
        max_lines=settings.max_lines,
    )
    known = {function.key: function for function in corpus.functions}
    functions = [known[key] for key in row["functions"]]
    builder = ProcessBuilder(f"local/{language}", settings)
    # The first one is built twice, at the same time and by two processes.
    try:
        with (
            open_sandbox("docker", programs=programs_of(language), workers=2, language=language) as sandbox,
            ThreadPoolExecutor(2) as pool,
        ):
            again, *built = pool.map(
                lambda function: builder.build(function, sandbox, seed=0), [functions[0], *functions]
            )
    finally:
        builder.close()
    harnesses = {
        function.key: harness
        for function, harness in zip(functions, built, strict=True)
        if isinstance(harness, Harness)
    }
    killed = sum(harness.evidence.mutants_killed for harness in harnesses.values())
    total = sum(harness.evidence.mutants for harness in harnesses.values())
    found = {"functions": row["functions"], "conclusive": list(harnesses), "strength": [killed, total]}
    shown = json.dumps(found, indent=2) + "".join(
        f"\n{item}" for item in built if item not in harnesses.values()
    )
    assert digest(encode(again)) == digest(encode(built[0])), shown
    assert set(harnesses) >= set(row["conclusive"]), shown
    assert killed / total >= row["strength"][0] / row["strength"][1] - STRENGTH_LOST, shown
