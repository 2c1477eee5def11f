"""The few lines about a run as a whole: what is audited (before), and what came of it (after).

Plain text without colour. This module knows nothing of pytest's terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Rate, VerdictChange
from pytest_funcmem.reporting.plain_text import shorten, visible
from pytest_funcmem.verdict.rates import Rates, Summary

__all__ = ["change_text", "dropped_text", "header_lines", "summary_lines"]

_LABEL = 14
_NEAR_ROWS = 10
_DROPPED = {
    "too_short": "too short",
    "too_long": "too long",
    "syntax_error": "with a syntax error",
    "fill_in_the_middle": "mangled by fill-in-the-middle",
    "generated": "generated",
    "no_body": "without a body",
    "low_severity": "of too little logic",
    "unlisted": "not in the row's own list",
    "duplicate": "of the same place and name as another",
    "binary_file": "binary",
    "encoding": "not in UTF-8",
    "too_large": "in too large a file",
    "unknown_language": "in an unknown language",
    "symlink": "linked from outside the source or to nowhere",
    "symlink_loop": "linked in a loop",
}


def header_lines(
    settings: Settings, dropped: Mapping[str, int], functions: int, unnamed: int = 0, *, width: int = 100
) -> list[str]:
    """Say what is audited and what was left out.

    Args:
        settings: Of the audit.
        dropped: Functions and files left out, by reason.
        functions: Functions collected.
        unnamed: Of those, the ones that a replay file does not name.
        width: Most columns of a line.
    """
    sources = ", ".join(settings.source) or "."
    lines = [
        f"funcmem: {_count(functions, 'function')} from {sources}",
        *(f"  {'target':<12}{spec}" for spec in settings.model or ("none",)),
        f"  {'reference':<12}{settings.reference or 'none'}",
    ]
    left_out = dropped_text(dropped)
    shown = [shorten(visible(line), width) for line in lines]
    if left_out:
        shown.extend(_wrapped("  left out", left_out, width))
    if unnamed:
        shown.extend(
            _wrapped(
                "  deselected", f"{_count(unnamed, 'function')} that the replay file does not name", width
            )
        )
    return shown


def dropped_text(dropped: Mapping[str, int]) -> str:
    """What was left out of a corpus, by reason, the commonest first; "" where nothing was."""
    return ", ".join(
        f"{number} {_DROPPED.get(reason, reason.replace('_', ' '))}"
        for reason, number in sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
        if number
    )


def summary_lines(summary: Summary, *, counters: Counters | None = None, width: int = 100) -> list[str]:
    """Say what came of a run: counts, rates with intervals, noise floor, reasons, and work done.

    Args:
        summary: Of the run.
        counters: Work done and work found in the store; None leaves that line out.
        width: Most columns of a line.
    """
    lines = _wrapped(
        "verdicts", " · ".join(f"{number} {kind}" for kind, number in summary.counts.items()), width
    )
    conclusive = summary.conclusive
    lines += _wrapped(
        "conclusive",
        f"{conclusive.numerator} of {_count(conclusive.denominator, 'function')}"
        + (
            f" decided: {_percent(conclusive.value)} ({_interval(conclusive)})"
            if conclusive.denominator
            else ""
        ),
        width,
    )
    if summary.reasons:
        reasons = (f"{number} {reason}" for reason, number in summary.reasons.items())
        lines += _wrapped("inconclusive", " · ".join(reasons), width)
    lines += ["", *_rate_table(summary), ""]
    lines += _wrapped(
        "noise floor",
        "what the same rule finds with target and reference exchanged",
        width,
    )
    if summary.scores:
        lines += _score_lines(summary, width)
    if summary.near:
        lines += ["", *_near_table(summary, width), ""]
    lines += _wrapped("note", f"{summary.note}; intervals are Clopper-Pearson, 95 %", width)
    if counters is not None:
        made = [
            f"generated {_count(counters.completions_generated, 'completion')}",
            *([f"replayed {counters.completions_replayed}"] if counters.completions_replayed else []),
            f"built {_count(counters.harnesses_built, 'harness')}",
            f"made {_count(counters.candidates_run, 'run')}",
        ]
        reused = [
            _count(counters.completions_reused, "completion"),
            _count(counters.harnesses_reused, "harness"),
            _count(counters.candidates_reused, "run"),
        ]
        if counters.scores_computed or counters.scores_reused:
            made.append(f"computed {_count(counters.scores_computed, 'score')}")
            reused.append(_count(counters.scores_reused, "score"))
        lines += _wrapped("work", ", ".join(made), width)
        lines += _wrapped("reused", ", ".join(reused), width)
    return lines


def change_text(change: VerdictChange) -> str:
    """A change of verdict in words: ``clean at tau_func=0.9``."""
    return f"{change.verdict or 'not known without a new run'} at {change.under}"


def _score_lines(summary: Summary, width: int) -> list[str]:
    """Means of the metrics, the target's before the reference's, and how often there was no figure."""
    said: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    for item in summary.scores:
        said.setdefault(item.name, []).append("n/a" if item.mean is None else f"{item.mean:.3f}")
        missing[item.name] = missing.get(item.name, 0) + item.missing
    parts = (
        f"{name} {' and '.join(means)}" + (f" ({missing[name]} without a figure)" if missing[name] else "")
        for name, means in said.items()
    )
    return _wrapped("scores", "mean of target and reference: " + " · ".join(parts), width)


def _near_table(summary: Summary, width: int) -> list[str]:
    """The functions whose verdict changes under a threshold nearby; the first few."""
    rows = summary.near[:_NEAR_ROWS]
    names = min(max(len(visible(item.key)) for item in rows), width // 2)
    total = _count(summary.functions, "verdict")
    lines = [f"{len(summary.near)} of {total} change under a threshold nearby"]
    lines.append(f"  {'function':<{names}}  {'verdict':<12}  verdict changes under")
    for item in rows:
        said = ", ".join(map(change_text, item.sensitivity.changes))
        row = f"  {shorten(visible(item.key), names):<{names}}  {item.verdict:<12}  {said}"
        lines.append(shorten(row, width))
    if len(summary.near) > len(rows):
        lines.append(f"  and {len(summary.near) - len(rows)} more")
    return lines


def _rate_table(summary: Summary) -> list[str]:
    blocks = [("", summary.rates, summary.noise_floor)]
    if len(summary.languages) > 1:
        blocks += [(item.language, item.rates, item.noise_floor) for item in summary.languages]
    rows = [f"{'':<{_LABEL}}{'rate':>11}{'':12}{'95 % interval':<20}{'noise floor':>11}{'':12}95 % interval"]
    for language, rates, noise_floor in blocks:
        if language and not rates.leaks.denominator:
            rows.append(f"{language:<{_LABEL}}nothing decided")
            continue
        if language:
            rows.append(language)
        rows.extend(_rate_rows(rates, noise_floor, indent="  " if language else ""))
    return rows


def _rate_rows(rates: Rates, noise_floor: Rates, *, indent: str) -> Iterable[str]:
    for label, own, noise in (
        ("functional", rates.functional, noise_floor.functional),
        ("verbatim", rates.verbatim, noise_floor.verbatim),
        ("all leaks", rates.leaks, noise_floor.leaks),
    ):
        yield f"{indent + label:<{_LABEL}}{_rate_cells(own)}{_rate_cells(noise)}".rstrip()


def _rate_cells(rate: Rate) -> str:
    share = f"{rate.numerator}/{rate.denominator}"
    return f"{share:>11}{_percent(rate.value):>9}   {_interval(rate):<20}"


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f} %"


def _interval(rate: Rate) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def _wrapped(label: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        visible(text),
        width=width,
        initial_indent=f"{label:<{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_on_hyphens=False,
    ) or [label]
