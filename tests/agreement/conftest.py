"""Pairs and packages for the agreement tests, which run in a tox environment of their own.

Elsewhere they are not collected: they need packages that cannot stand beside a current tree-sitter, and one
interpreter more. Where they run, nothing is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAIRS = int(os.environ.get("FUNCMEM_AGREEMENT_PAIRS") or 540)
"""540 are each function of the corpora once; more go through them again with other changes."""

collect_ignore_glob = [] if os.environ.get("FUNCMEM_AGREEMENT") else ["test_*.py"]


@pytest.fixture(scope="session")
def benchmark_module() -> Any:
    """``benchmarks/metrics.py``, which makes the pairs."""
    spec = importlib.util.spec_from_file_location("benchmark_metrics", ROOT / "benchmarks" / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def pairs(benchmark_module: Any, shared_dir: Path) -> list[Any]:
    """Functions of the corpora with changed versions of themselves and with others."""
    found: list[Any] = benchmark_module.corpus_pairs(shared_dir, PAIRS)
    return found


@pytest.fixture(scope="session")
def codebleu_package(pairs: list[Any]) -> Callable[..., list[dict[str, Any]]]:
    """Scores of the package ``codebleu`` by some interpreter, for all pairs or the first few."""

    def score(python: str, *flags: str, count: int = PAIRS, seed: str = "0") -> list[dict[str, Any]]:
        rows = [
            {"language": pair.language, "original": pair.original, "candidate": pair.candidate}
            for pair in pairs[:count]
        ]
        done = subprocess.run(
            [python, str(Path(__file__).with_name("peer_codebleu.py")), *flags],
            input="\n".join(map(json.dumps, rows)),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return score
