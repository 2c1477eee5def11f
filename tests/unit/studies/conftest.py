"""Reports of made-up audits, with figures that are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def function_line(number: int, *, verdict: str = "clean", **changes: Any) -> dict[str, Any]:
    """A function as an audit writes it; ``target`` and ``reference`` are laid over its sides."""

    def side(given: dict[str, Any]) -> dict[str, Any]:
        return {
            "func": 0.0,
            "bleu": 0.1,
            "edit": 0.2,
            "lcs": 0.1,
            "exact": False,
            "candidate": "ok",
            "scores": {},
            **given,
        }

    harness = {"valid": 10, "coverage": 1.0, "stub": 0.3, "sha256": "a" * 64}
    return {
        "kind": "function",
        "nodeid": f"a.py::f{number}",
        "function": {"id": f"a.py::f{number}", "sha256": f"{number:064}"},
        "verdict": verdict,
        "reason": changes.get("reason", "as planted"),
        "model": "replay:target",
        "target": side(changes.get("target", {})),
        "reference": side(changes.get("reference", {})),
        "harness": {**harness, **changes.get("harness", {})},
    }


@pytest.fixture
def write_results(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: dict[str, Any], name: str = "audit.jsonl", **settings: Any) -> Path:
        used = {"tau_func": 0.8, "tau_text": 0.75, "min_coverage": 0.8, "min_inputs": 8, **settings}
        manifest = {"kind": "manifest", "format_version": 1, "settings": used}
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, (manifest, *lines, {"kind": "summary"}))), encoding="utf-8")
        return path

    return write


@pytest.fixture
def line() -> Callable[..., dict[str, Any]]:
    return function_line
