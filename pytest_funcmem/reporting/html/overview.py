"""The overview of the HTML report: what was audited, counts, rates, and what the figures rest on.

Plain HTML that is there before any script runs. Every text goes through ``escape`` here or in ``chart``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Json, Rate
from pytest_funcmem.reporting.html.chart import Bar, bar_chart, percent
from pytest_funcmem.reporting.plain_text import visible
from pytest_funcmem.reporting.run_facts import gate_texts, model_name, not_reached, standings
from pytest_funcmem.verdict.prevalence import Prevalence, prevalence, prevalence_by_language
from pytest_funcmem.verdict.rates import Rates, Summary

__all__ = ["overview"]

_MEANING = {
    "functional": "the target behaves like the original in other words; the reference does not",
    "verbatim": "the target's text is near-verbatim; the reference's is not",
    "clean": "neither leaks, or the reference knows it as well",
    "inconclusive": "no harness could prove itself; nothing is known",
    "error": "the audit itself broke; nothing is known",
}
_ALL = "all languages"


def overview(
    manifest: Mapping[str, Json],
    records: Sequence[AuditRecord],
    summary: Summary,
    settings: Settings,
    models: Mapping[str, tuple[Sequence[AuditRecord], Summary]] | None = None,
) -> str:
    """The overview as HTML.

    Args:
        manifest: What the run was made under.
        records: Finished records.
        summary: Of the records.
        settings: Of the audit.
        models: Records and summary of each model by its short name, where there are several.
    """
    models = models or {}
    summaries = {label: own for label, (_, own) in models.items()}
    return "\n".join(
        [
            _about(manifest, summary, settings, summaries),
            _counts(summary, several=bool(models)),
            _by_model(summaries),
            _rates(summary, summaries),
            _charts({label: own for label, (own, _) in models.items()}, records, settings),
            _reasons(summary),
            _manifest(manifest),
        ]
    )


def _text(value: object) -> str:
    return escape(visible(str(value)))


def _about(
    manifest: Mapping[str, Json], summary: Summary, settings: Settings, models: Mapping[str, Summary]
) -> str:
    rows = [
        ("target", _model(manifest, side)) for side in [f"target[{label}]" for label in models] or ["target"]
    ]
    rows.append(("reference", _model(manifest, "reference")))
    sources = ", ".join(str(source) for source in manifest.get("sources", ())) or "unknown"
    rows.append(("source", sources))
    rows += [("gate", text) for text in gate_texts(manifest, tuple(models))]
    counted = Counter(standings(manifest).values())
    if counted:
        meaning = {"accepted": "accepted by the baseline", "expired": "whose acceptance has expired"}
        parts = (
            f"{number} {meaning.get(name, 'counted by a maximal rate')}"
            for name, number in sorted(counted.items())
        )
        rows.append(("baseline", ", ".join(parts)))
    missing = not_reached(manifest)
    if missing:
        rows.append(("incomplete", f"{missing} of {manifest['selected']} functions were not reached"))
    if settings.mask:
        rows.append(("masked", "code bodies, literals and values are hidden in this report"))
    items = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in rows)
    decided = "" if models else f'<p class="decided">{_decided(summary)}</p>'
    return f'<dl class="about">{items}</dl>{decided}'


def _decided(summary: Summary) -> str:
    conclusive = summary.conclusive
    decided = f"{conclusive.numerator} of {conclusive.denominator} functions decided"
    if conclusive.value is not None:
        decided += f": {percent(conclusive.value)} ({_interval(conclusive)})"
    return decided


def _model(manifest: Mapping[str, Json], side: str) -> str:
    identity = (manifest.get("models") or {}).get(side)
    if identity is None:
        return model_name(manifest, side)
    revision = str(identity.get("revision", ""))
    return f"{identity.get('spec')} (revision {revision[:20]}{'…' if len(revision) > 20 else ''})"


def _counts(summary: Summary, *, several: bool) -> str:
    tiles = "".join(
        f'<li><a class="tile {kind}" href="#/?verdict={kind}"><strong>{number}</strong> '
        f"<span>{kind}</span><small>{_MEANING[kind]}</small></a></li>"
        for kind, number in summary.counts.items()
    )
    title = "Verdicts, of all models together" if several else "Verdicts"
    return f'<h2>{title}</h2><ul class="tiles">{tiles}</ul>'


def _by_model(models: Mapping[str, Summary]) -> str:
    """Verdicts model by model, each a link to them in the list."""
    if not models:
        return ""
    head = "".join(f'<th scope="col">{kind}</th>' for kind in next(iter(models.values())).counts)
    rows = "".join(
        f'<tr><th scope="row"><a href="#/?model={quote(label, safe="")}">{_text(label)}</a></th>'
        + "".join(f"<td>{number}</td>" for number in own.counts.values())
        + f"<td>{_decided(own)}</td></tr>"
        for label, own in models.items()
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Verdicts by model"><table class="models">'
        f'<thead><tr><th scope="col">model</th>{head}<th scope="col">decided</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _rates(summary: Summary, models: Mapping[str, Summary]) -> str:
    blocks = []
    for label, part in (models or {"": summary}).items():
        blocks.append((label or _ALL, part.rates, part.noise_floor))
        for item in part.languages if len(part.languages) > 1 else ():
            name = f"{label}, {item.language}" if label else item.language
            blocks.append((name, item.rates, item.noise_floor))
    first = "model" if models else "language"
    body = "".join(_rate_rows(name, own, noise) for name, own, noise in blocks)
    return (
        '<h2>Leak rates</h2><div class="scroll" tabindex="0" role="region" aria-label="Leak rates">'
        f'<table class="rates"><thead><tr><th scope="col">{first}</th><th scope="col">kind</th>'
        '<th scope="col">rate</th><th scope="col">95 % interval</th><th scope="col">noise floor</th>'
        f'<th scope="col">95 % interval</th></tr></thead>{body}</table></div>'
        "<p>Of the functions decided. The noise floor is what the same rule finds with target and reference"
        f" exchanged. Intervals are Clopper and Pearson's. {_text(summary.note.capitalize())}.</p>"
    )


def _rate_rows(name: str, own: Rates, noise: Rates) -> str:
    rows = []
    for label in ("functional", "verbatim", "leaks"):
        heading = f'<th scope="rowgroup" rowspan="3">{_text(name)}</th>' if label == "functional" else ""
        cells = "".join(_rate_cells(getattr(rates, label)) for rates in (own, noise))
        rows.append(
            f'<tr>{heading}<th scope="row">{"all leaks" if label == "leaks" else label}</th>{cells}</tr>'
        )
    return f"<tbody>{''.join(rows)}</tbody>"


def _rate_cells(rate: Rate) -> str:
    value = "n/a" if rate.value is None else percent(rate.value)
    return f"<td>{value} <small>{rate.numerator}/{rate.denominator}</small></td><td>{_interval(rate)}</td>"


def _interval(rate: Rate) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"


def _charts(
    models: Mapping[str, Sequence[AuditRecord]], records: Sequence[AuditRecord], settings: Settings
) -> str:
    taus = {"tau_func": settings.tau_func, "tau_text": settings.tau_text}
    by_language = prevalence_by_language(records, **taus)
    groups: dict[str, Prevalence] = {label: prevalence(own, **taus) for label, own in models.items()}
    if not models:
        groups = {str(name): shares for name, shares in by_language.items()}
        if len(groups) != 1:
            groups[_ALL] = prevalence(records, **taus)
    by = "model" if models else "language"
    text = {
        name: (
            Bar(label="reference", kind="reference", rate=shares.text_reference),
            Bar(label="target", kind="target", rate=shares.text_target),
            Bar(label="target only", kind="only", rate=shares.text_only_target),
        )
        for name, shares in groups.items()
    }
    behaviour = {
        name: (
            Bar(label="reference", kind="reference", rate=shares.behaviour_reference),
            Bar(label="target", kind="target", rate=shares.behaviour_target),
            Bar(label="target only", kind="only", rate=shares.behaviour_only_target),
            Bar(label="… text unlike", kind="unseen", rate=shares.behaviour_unseen),
        )
        for name, shares in groups.items()
    }
    alone = sum(shares.by_text_alone for shares in by_language.values())
    note = (
        f" {alone} of the functions decided were decided by text alone and count as not given back in"
        " behaviour."
        if alone
        else ""
    )
    return (
        '<h2>What the models give back</h2><div class="charts">'
        f"<figure><figcaption>Text: SIM_text ≥ {settings.tau_text:g}</figcaption>"
        + bar_chart(text, identifier="chart-text", title=f"Shares of near-verbatim completions by {by}")
        + f"</figure><figure><figcaption>Behaviour: SIM_func ≥ {settings.tau_func:g}</figcaption>"
        + bar_chart(
            behaviour,
            identifier="chart-behaviour",
            title=f"Shares of completions that behave like the original, by {by}",
        )
        + "</figure></div>"
        "<p>Shares of the functions decided, with 95 % intervals. “Target only”: the target gives it back and"
        " the reference does not. “… text unlike”: of those, what an audit by text would miss."
        f"{note}</p>" + _chart_table(groups, by)
    )


def _chart_table(groups: Mapping[str, Prevalence], by: str) -> str:
    heads = ("reference", "target", "target only")
    columns = [f"text: {head}" for head in heads] + [f"behaviour: {head}" for head in (*heads, "text unlike")]
    names = (
        "text_reference",
        "text_target",
        "text_only_target",
        "behaviour_reference",
        "behaviour_target",
        "behaviour_only_target",
        "behaviour_unseen",
    )
    head = "".join(f'<th scope="col">{column}</th>' for column in (by, *columns))
    rows = []
    for language, shares in groups.items():
        cells = "".join(
            f"<td>{rate.numerator}/{rate.denominator} <small>{_interval(rate)}</small></td>"
            for rate in (getattr(shares, name) for name in names)
        )
        rows.append(f'<tr><th scope="row">{_text(language)}</th>{cells}</tr>')
    return (
        "<details><summary>The same as a table</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="What the models give back, as a table">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _reasons(summary: Summary) -> str:
    if not summary.reasons:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_text(reason)}</th><td>{number}</td></tr>'
        for reason, number in summary.reasons.items()
    )
    return (
        "<h2>Why functions are inconclusive</h2><table><thead>"
        '<tr><th scope="col">reason</th><th scope="col">functions</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _manifest(manifest: Mapping[str, Json]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>'
        for name, value in _flat(manifest)
    )
    return (
        "<details><summary>What this run was made under</summary>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Manifest of the run">'
        '<table class="manifest"><thead><tr><th scope="col">name</th><th scope="col">value</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        found = []
        for key, item in value.items():
            found += _flat(item, f"{name}.{key}" if name else str(key))
        return found
    if isinstance(value, (list, tuple)):
        return [(name, ", ".join(str(item) for item in value) or "none")]
    return [(name, "none" if value is None else str(value))]
