"""From names to metrics: ``bleu``, ``tsed``, ``embedding:MODEL``, ``judge:PROMPT@SPEC`` and the others.

The registry says where each lives; nothing heavy is loaded before a metric that needs it is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.protocols import Metric, Store
from pytest_funcmem.core.registry import REGISTRY, load
from pytest_funcmem.metrics.judging.asking import AskerSettings
from pytest_funcmem.models.prices import Price

__all__ = ["DEFAULT_METRICS", "MetricSettings", "open_metric", "open_metrics", "split_names"]

DEFAULT_METRICS = (
    "bleu",
    "edit",
    "lcs",
    "exact",
    "codebleu",
    "codebleu-syntax",
    "codebleu-dataflow",
    "tsed",
)
"""Those that need no model."""

_WITH_MODEL = {"embedding": "embedding:MODEL", "judge": "judge:PROMPT@SPEC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSettings:
    """What metrics that ask a model need to know.

    Attributes:
        device: Torch device of models on this machine.
        max_cost: Dollars that each judge may spend; None for no cap.
        price: What judges cost, whatever a table says.
        prices: The user's table of prices by model.
        batch: Whether judges use the batch endpoint.
    """

    device: str = "auto"
    max_cost: float | None = None
    price: Price | None = None
    prices: Mapping[str, Price] | None = None
    batch: bool = False

    def for_judges(self) -> AskerSettings:
        """What of it judges need."""
        return AskerSettings(
            max_cost=self.max_cost,
            price=self.price,
            prices=self.prices,
            batch=self.batch,
            device=self.device,
        )


def split_names(text: str, *, where: str = "--metrics") -> tuple[str, ...]:
    """Names out of a list with commas between them; a comma inside the name of a model stays.

    Args:
        text: The list.
        where: The option that it was given for, for messages.

    Raises:
        UsageError: There is no name, an unknown one, or one twice.
    """
    kinds = "|".join(map(re.escape, sorted(REGISTRY["metric"], key=len, reverse=True)))
    names = [name.strip() for name in re.split(rf",(?=\s*(?:{kinds})(?:[:,]|\s*$))", text)]
    names = [part for name in names for part in ([name] if ":" in name else name.split(","))]
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise UsageError("No metric is named.", where=where, expected=_expected())
    for name in names:
        _kind(name, where=where)
        if names.count(name) > 1:
            raise UsageError(f"The metric {name!r} is named twice.", where=where, remedy="Name it once.")
    return tuple(names)


def open_metric(name: str, *, store: Store | None = None, settings: MetricSettings | None = None) -> Metric:
    """Open a metric by its name.

    Args:
        name: Such as ``codebleu``, ``embedding:qwen3-0.6b`` or ``judge:ours@anthropic:claude-sonnet-4-6``.
        store: Keeps what servers answer, so that nothing is asked or paid for twice.
        settings: What metrics that ask a model need to know.

    Raises:
        UsageError: There is no such metric.
        ModelSpecError: The model that it asks is not there.
        MissingExtraError: A package that it needs is not installed.
    """
    settings = settings or MetricSettings()
    kind, rest = _kind(name)
    implementation = load("metric", kind, purpose=f"for the metric {name}")
    metric: Metric
    match kind:
        case "embedding":
            metric = implementation(rest, store=store, device=settings.device)
        case "judge":
            metric = implementation(rest, store=store, settings=settings.for_judges())
        case _:
            metric = implementation()
    return metric


@contextmanager
def open_metrics(
    names: Sequence[str], *, store: Store | None = None, settings: MetricSettings | None = None
) -> Iterator[tuple[Metric, ...]]:
    """Open several metrics, and close them all at the end; see ``open_metric``."""
    with ExitStack() as stack:
        metrics = []
        for name in names:
            metric = open_metric(name, store=store, settings=settings)
            stack.callback(metric.close)
            metrics.append(metric)
        yield tuple(metrics)


def _kind(name: str, *, where: str | None = None) -> tuple[str, str]:
    kind, colon, rest = name.partition(":")
    if kind not in REGISTRY["metric"]:
        raise UsageError(f"There is no metric named {name!r}.", where=where, expected=_expected())
    if kind in _WITH_MODEL and not rest.strip():
        raise UsageError(f"The metric {name!r} names no model.", where=where, expected=_WITH_MODEL[kind])
    if kind not in _WITH_MODEL and colon:
        raise UsageError(f"The metric {kind!r} takes nothing after it.", where=where or name, expected=kind)
    return kind, rest


def _expected() -> str:
    return "one of " + ", ".join(_WITH_MODEL.get(name, name) for name in sorted(REGISTRY["metric"]))
