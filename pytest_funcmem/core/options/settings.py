"""The settings of an audit: one field for each option, merged from where they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options.table import OPTIONS

__all__ = ["PRESETS", "Settings", "settings_from"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every option with its value; one audit has one of these."""

    model: tuple[str, ...] = ()
    reference: str | None = None
    source: tuple[str, ...] = ()
    preset: str | None = None
    builder: str = "local"
    sandbox: str = "auto"
    store: str = ".funcmem"
    report: tuple[str, ...] = ()
    mask: bool = False
    baseline: str | None = None
    update_baseline: bool = False
    accept_who: str | None = None
    accept_until: str | None = None
    accept_reason: str | None = None
    max_rate: tuple[str, ...] = ()
    stop_early: bool = False
    time_budget: float | None = None
    tau_func: float = 0.8
    tau_text: float = 0.75
    inputs: int = 10
    min_inputs: int = 8
    min_coverage: float = 0.8
    min_outputs: int = 2
    min_lines: int = 10
    max_lines: int = 50
    prefix_tokens: int = 250
    max_new_tokens: int = 500
    seed: int = 0
    min_conclusive: float = 0.5
    dtype: str = "float32"
    device: str = "auto"
    batch_size: int = 16
    float_tolerance: float = 1e-9
    budget: float = 60.0
    agent: str | None = None
    agent_limit: str | None = None
    agent_run_limit: str | None = None
    agents: int = 4
    no_widening: bool = False
    workers: int = 0
    metrics: tuple[str, ...] = ()
    filter: str | None = None
    min_severity: int = 3
    judge_max_cost: float | None = None
    prices: str | None = None
    image: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    server_timeout: float = 300.0

    @property
    def target(self) -> str | None:
        """The target model, where there is one; of several, the first."""
        return self.model[0] if self.model else None


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # The paper's section 4; these are the defaults, named so that a changed default cannot move them.
    "paper": {
        "tau_func": 0.8,
        "tau_text": 0.75,
        "inputs": 10,
        "min_inputs": 8,
        "min_coverage": 0.8,
        "min_outputs": 2,
        "min_lines": 10,
        "max_lines": 50,
        "prefix_tokens": 250,
        "max_new_tokens": 500,
    },
}


def settings_from(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> Settings:
    """Merge layers of parsed values, the later ones beating the earlier.

    Args:
        layers: (place for messages, values by field name); a named preset lies below all of them.

    Raises:
        UsageError: Unknown preset, or values that contradict each other.
    """
    merged: dict[str, Any] = {}
    for _, values in layers:
        merged.update(values)
    preset = merged.get("preset")
    if preset is not None:
        if preset not in PRESETS:
            raise UsageError(
                f"There is no preset named {preset!r}.",
                where="--funcmem-preset",
                expected="one of " + ", ".join(sorted(PRESETS)),
                remedy="Name one of these, or leave the option out.",
            )
        merged = {**PRESETS[preset], **merged}
    settings = Settings(**merged)
    if settings.min_lines > settings.max_lines:
        raise UsageError(
            f"No function can have at least {settings.min_lines} and at most {settings.max_lines} lines.",
            where="--funcmem-min-lines, --funcmem-max-lines",
            remedy="Lower the one or raise the other.",
        )
    if settings.min_inputs > settings.inputs:
        raise UsageError(
            f"A harness of {settings.inputs} input states cannot have {settings.min_inputs} valid ones.",
            where="--funcmem-inputs, --funcmem-min-inputs",
            remedy="Lower --funcmem-min-inputs or raise --funcmem-inputs.",
        )
    if settings.stop_early and not settings.max_rate:
        raise UsageError(
            "Without a maximal rate there is no question that could be settled early.",
            where="--funcmem-stop-early",
            remedy="Add --funcmem-max-rate=RATE; to stop at the first leak, use pytest's -x.",
        )
    if "agent" in settings.builder and settings.agent is None:
        raise UsageError(
            "The agent that is to build harnesses has no model.",
            where=f"--funcmem-builder={settings.builder}",
            remedy="Add --funcmem-agent=anthropic:MODEL or --funcmem-agent=openai:BASE_URL#MODEL.",
        )
    if settings.update_baseline and settings.baseline is None:
        raise UsageError(
            "There is no baseline to write to.",
            where="--funcmem-update-baseline",
            remedy="Add --funcmem-baseline=FILE.",
        )
    return settings


def _table_matches_settings() -> None:
    table = {option.field: option.default for option in OPTIONS}
    record = {item.name: item.default for item in fields(Settings)}
    if table != record:
        raise AssertionError(
            f"OPTIONS and Settings differ: {sorted(set(table.items()) ^ set(record.items()))}"
        )


_table_matches_settings()
