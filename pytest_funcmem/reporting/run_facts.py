"""What a manifest says of a run as a whole, as the reports for people show it.

A manifest may be that of another version: whatever it lacks is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_funcmem.core.records import Json

__all__ = ["gate_texts", "headline", "model_name", "not_reached", "standings", "target_names"]


def model_name(manifest: Mapping[str, Json], side: str) -> str:
    """The SPEC of the target or the reference; several targets joined by commas.

    Args:
        manifest: What the run was made under.
        side: ``target`` or ``reference``.
    """
    if side == "target":
        return ", ".join(target_names(manifest))
    return str((manifest.get("settings") or {}).get(side) or "unknown")


def target_names(manifest: Mapping[str, Json]) -> list[str]:
    """The SPEC of each target, at least one."""
    value = (manifest.get("settings") or {}).get("model")
    found = value if isinstance(value, (list, tuple)) else [value]
    return [str(spec or "unknown") for spec in found] or ["unknown"]


def headline(manifest: Mapping[str, Json], *, leaks: int, results: int) -> str:
    """What a report for people begins with.

    Args:
        manifest: What the run was made under.
        leaks: Leaks among the results.
        results: Functions audited, those of several models counted for each.
    """
    models = (manifest.get("settings") or {}).get("model")
    several = len(models) if isinstance(models, (list, tuple)) else 1
    found = f"{leaks} {'leak' if leaks == 1 else 'leaks'}"
    if several > 1:
        return f"funcmem: {found} in {results} results of {several} models"
    return f"funcmem: {found} in {results} {'function' if results == 1 else 'functions'}"


def not_reached(manifest: Mapping[str, Json]) -> int:
    """How many of the selected functions were not reached before the run ended."""
    selected, reported = manifest.get("selected"), manifest.get("reported")
    if not isinstance(selected, int) or not isinstance(reported, int):
        return 0
    return max(0, selected - reported)


def gate_texts(manifest: Mapping[str, Json], labels: Sequence[str] = ()) -> list[str]:
    """How the gate of each model decided, with its rule and numbers.

    Args:
        manifest: What the run was made under.
        labels: Short names of the models, in their order; none for their SPECs.
    """
    texts = []
    gates = manifest.get("gate") or []
    names = list(labels) or [str(gate.get("model")) for gate in gates]
    for number, gate in enumerate(gates):
        word = "passes" if gate.get("exit_code") == 0 else "fails"
        text = f"{word} (rule '{gate.get('rule')}', exit code {gate.get('exit_code')}): {gate.get('reason')}"
        if gate.get("settled"):
            text += f"; ended early: {gate['settled']}"
        texts.append(f"{names[number]} {text}" if len(gates) > 1 else text)
    return texts


def standings(manifest: Mapping[str, Json]) -> dict[str, str]:
    """What a leak counts as that does not simply fail: ``accepted``, ``expired``, ``counted``; by node id."""
    found: dict[str, str] = {}
    baseline = manifest.get("baseline") or {}
    for name, shown in (
        ("accepted", "accepted"),
        ("accepting", "accepted"),
        ("expired", "expired"),
        ("counted", "counted"),
    ):
        found.update(dict.fromkeys(baseline.get(name) or (), shown))
    return found
