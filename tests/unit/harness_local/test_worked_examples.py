"""The paper's Python examples: harnesses from this builder alone give the expected bands."""

from __future__ import annotations

import json

import pytest

from pytest_funcmem.core.records import Harness
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.local.builder import LocalBuilderSettings, LocalPythonBuilder
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.languages.python import PythonFrontend

CASES = {
    "01_construct_api_request_url.py": ((1.0, 1.0), (0.0, 0.2)),
    "02_diffuse_dust.py": ((0.0, 0.79), (0.0, 0.79)),
    "04_calculate_commission_rate.py": ((0.8, 1.0), (0.0, 0.2)),
    "05_calculate_final_price.py": ((1.0, 1.0), (0.0, 0.79)),
    "11_get_key.py": ((1.0, 1.0), (0.0, 0.2)),
}


@pytest.mark.parametrize("name", CASES)
def test_similarities_of_both_models_are_in_their_bands(sandbox, shared_dir, name):
    path = shared_dir / "cases" / "sources" / name
    frontend = PythonFrontend()
    completions = {}
    for model in ("target", "reference"):
        for line in (shared_dir / "cases" / f"{model}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            completions[model, row["function"]] = row["completion"]
    scan = frontend.scan(path.read_text(encoding="utf-8"), path=name)
    function = next(item for item in scan.functions if ("target", item.key) in completions)
    harness = LocalPythonBuilder(LocalBuilderSettings(mutants=8)).build(function, sandbox, seed=0)
    assert isinstance(harness, Harness), harness
    for model, (low, high) in zip(("target", "reference"), CASES[name], strict=True):
        code = frontend.candidate(function, completions[model, function.key]).code
        assert code is not None
        program = spliced_program(function, harness.scaffold, code)
        run = execute(
            sandbox, program, harness.states, coverage=False, state_timeout_s=harness.state_timeout_s
        )
        assert low <= similarity(harness.expected, run.outputs)[0] <= high
