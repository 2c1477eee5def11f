"""The Markdown report: what a job summary or a comment on a change shows of an audit.

Texts that came out of an audit stand in code spans, where neither Markdown nor HTML nor a mention in them
means anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_funcmem.core.records import AuditRecord, Json, Rate, Side
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.reporting.report_file import ReportFile
from pytest_funcmem.reporting.run_facts import (
    gate_texts,
    headline,
    model_name,
    not_reached,
    standings,
    target_names,
)
from pytest_funcmem.reporting.summary import change_text
from pytest_funcmem.verdict.rates import Rates, Summary

__all__ = ["MarkdownReporter"]

_LEAKS = 100  # leaks that are listed; job summaries have a limit of a mebibyte
_TEXT = 160


class MarkdownReporter(ReportFile):
    """Writes the Markdown report of a finished audit.

    Args:
        settings: Of the audit.
    """

    what = "Markdown report"

    def pieces(self, manifest: Json, records: Sequence[AuditRecord], nodeids: Sequence[str]) -> Iterator[str]:
        """The report's text; see ``ReportFile``."""
        summary = self.summary(records)
        models = {
            label: self.summary([record for record, _ in own])
            for label, own in self.apart(records, nodeids).items()
        }
        lines = [*_head(manifest, summary, models), *_rate_lines(summary, models), *_reason_lines(summary)]
        lines += _leak_lines(records, nodeids, standings(manifest))
        lines += _near_lines(summary)
        for line in lines:
            yield f"{line}\n"


def _head(manifest: Mapping[str, Json], summary: Summary, models: Mapping[str, Summary]) -> Iterator[str]:
    leaks, errors = summary.rates.leaks.numerator, summary.counts["error"]
    yield f"## {headline(manifest, leaks=leaks, results=summary.functions)}"
    yield ""
    targets, reference = target_names(manifest), model_name(manifest, "reference")
    noun = "Target" if len(targets) == 1 else "Targets"
    yield f"{noun} {', '.join(map(_code, targets))}, reference {_code(reference)}."
    yield ""
    for text in gate_texts(manifest, tuple(models)):
        yield f"Gate: {_code(text)}"
        yield ""
    first = "| model " if models else ""
    yield f"{first}| " + " | ".join(summary.counts) + " | decided |"
    yield ("| --- " if models else "") + "|" + " ---: |" * (len(summary.counts) + 1)
    for label, own in (models or {"": summary}).items():
        name = f"| {_code(label)} " if models else ""
        counts = " | ".join(str(number) for number in own.counts.values())
        yield f"{name}| {counts} | {_decided(own)} |"
    yield ""
    missing = not_reached(manifest)
    if missing:
        yield f"**Incomplete**: {_count(missing, 'selected function')} not reached."
        yield ""
    if errors:
        yield f"**{_count(errors, 'function')}** could not be audited: nothing is known about them."
        yield ""


def _decided(summary: Summary) -> str:
    conclusive = summary.conclusive
    share = "" if conclusive.value is None else f" ({100 * conclusive.value:.1f} %)"
    return f"{conclusive.numerator} of {conclusive.denominator}{share}"


def _rate_lines(summary: Summary, models: Mapping[str, Summary]) -> Iterator[str]:
    yield "| | kind | rate | 95 % interval | noise floor | 95 % interval |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for label, part in (models or {"": summary}).items():
        yield from _block(_code(label) if label else "all", part.rates, part.noise_floor)
        for item in part.languages if len(part.languages) > 1 else ():
            name = f"{_code(label)} {item.language}" if label else item.language
            yield from _block(name, item.rates, item.noise_floor)
    yield ""
    yield (
        "Of the functions decided; the noise floor is the same rule with target and reference exchanged; "
        f"{summary.note}."
    )
    yield ""


def _block(name: str, own: Rates, noise: Rates) -> Iterator[str]:
    for label, kind in (("functional", "functional"), ("verbatim", "verbatim"), ("all leaks", "leaks")):
        cells = [*_cells(getattr(own, kind)), *_cells(getattr(noise, kind))]
        yield f"| {name} | {label} | {' | '.join(cells)} |"


def _cells(rate: Rate) -> tuple[str, str]:
    value = "n/a" if rate.value is None else f"{100 * rate.value:.1f} %"
    return (
        f"{value} ({rate.numerator}/{rate.denominator})",
        f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %",
    )


def _reason_lines(summary: Summary) -> Iterator[str]:
    if summary.reasons:
        shown = ", ".join(f"{number} {_code(reason)}" for reason, number in summary.reasons.items())
        yield f"Inconclusive: {shown}."
        yield ""


def _leak_lines(
    records: Sequence[AuditRecord], nodeids: Sequence[str], standing: Mapping[str, str]
) -> Iterator[str]:
    leaks = [
        (record, nodeid) for record, nodeid in zip(records, nodeids, strict=True) if record.verdict.is_leak
    ]
    if not leaks:
        return
    yield "| leak | function | SIM_func target, reference | SIM_text target, reference |"
    yield "| --- | --- | ---: | ---: |"
    for record, nodeid in leaks[:_LEAKS]:
        func = f"{_func(record.target)}, {_func(record.reference)}"
        text = f"{_text(record.target)}, {_text(record.reference)}"
        kind = ", ".join(filter(None, (record.verdict.kind, standing.get(nodeid))))
        yield f"| {kind} | {_code(nodeid)} | {func} | {text} |"
    yield ""
    if len(leaks) > _LEAKS:
        yield f"and {_count(len(leaks) - _LEAKS, 'more leak')}."
        yield ""


def _near_lines(summary: Summary) -> Iterator[str]:
    if not summary.near:
        return
    yield "| near a threshold | verdict | verdict changes under |"
    yield "| --- | --- | --- |"
    for item in summary.near[:_LEAKS]:
        said = ", ".join(map(change_text, item.sensitivity.changes))
        yield f"| {_code(item.key)} | {item.verdict} | {_code(said)} |"
    yield ""
    if len(summary.near) > _LEAKS:
        yield f"and {len(summary.near) - _LEAKS} more."
        yield ""


def _func(side: Side | None) -> str:
    return "n/a" if side is None or side.func is None else f"{side.func:.2f}"


def _text(side: Side | None) -> str:
    return "n/a" if side is None else f"{side.similarity.bleu.value:.2f}"


def _code(value: object) -> str:
    """A code span that holds any text, also within a table."""
    text = shorten(visible(str(value)), _TEXT)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    # A table's cells end at a bar even within a code span; a backslash before it is taken away again there.
    return f"{fence}{pad}{text or ' '}{pad}{fence}".replace("|", "\\|")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
