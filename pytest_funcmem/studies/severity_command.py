"""``funcmem severity PATH…``: rates functions by one or several raters, and says how far these agree.

One JSON object a line: ``{"function", "severity": {rater: {"value", "signature", "note"}}}``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.errors import SourceError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Store
from pytest_funcmem.core.records import Rate, Severity
from pytest_funcmem.reporting.files import write_whole
from pytest_funcmem.reporting.plain_text import shorten, visible

if TYPE_CHECKING:
    from pytest_funcmem.studies.agreement import Agreement

__all__ = ["add_severity_command", "run_severity_command"]

NO_RATING_EXIT = 6


def add_severity_command(commands: Any) -> None:
    """Add ``severity`` to the command's subparsers."""
    defaults = Settings()
    parser = commands.add_parser(
        "severity",
        help="rate how much logic worth protecting functions hold",
        description="Rate functions from 1 to 10. Several --by are compared with each other.",
    )
    parser.add_argument("source", metavar="PATH", nargs="+", help="file, directory or data set")
    parser.add_argument(
        "--by",
        metavar="RATER",
        action="append",
        default=None,
        help="local (default), labels:FILE, anthropic:MODEL, openai:BASE_URL#MODEL or hf:PATH_OR_ID",
    )
    parser.add_argument("--output", "-o", metavar="FILE", default="-", help="where to; - is standard output")
    for name in ("min_lines", "max_lines", "min_severity"):
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, type=int, default=getattr(defaults, name), metavar="N")
    parser.add_argument("--store", metavar="DIR", default=defaults.store, help="where answers are kept")
    parser.add_argument("--device", metavar="NAME", default="auto", help="torch device of models")
    parser.add_argument("--max-cost", metavar="USD", type=float, default=None, help="most a judge may cost")
    parser.add_argument("--prices", metavar="FILE", default=None, help="table of prices, as JSON")


def run_severity_command(options: argparse.Namespace, open_store: Callable[[Path], Store]) -> int:
    """Rate the functions of sources; gives the exit code.

    Args:
        options: The parsed arguments.
        open_store: Opens the directory where answers of models are kept.

    Returns:
        0, or 6 where some rater gave no rating at all.

    Raises:
        UsageError: An argument is wrong.
        SourceError: There is no function.
        AuditError: An engine failed.
    """
    # What judges need is heavy, and the parser of every command imports this module.
    from pytest_funcmem.corpora.reading import read_sources
    from pytest_funcmem.metrics.judging.asking import AskerSettings
    from pytest_funcmem.metrics.severity.raters import JudgeRater, open_rater
    from pytest_funcmem.models.prices import read_prices
    from pytest_funcmem.studies.agreement import agreement

    specs: list[str] = options.by or ["local"]
    if len(set(specs)) < len(specs):
        raise UsageError("A rater is named twice.", where="--by", remedy="Name each once.")
    if options.max_cost is not None and not 0 <= options.max_cost < float("inf"):
        raise UsageError("A cost cap is a number of dollars.", where="--max-cost", expected="at least 0")
    settings = AskerSettings(
        max_cost=options.max_cost,
        prices=read_prices(Path(options.prices)) if options.prices is not None else None,
        device=options.device,
    )
    store = open_store(Path(options.store))
    with ExitStack() as stack:
        raters = []
        for spec in specs:
            rater = open_rater(spec, store=store, settings=settings)
            stack.callback(rater.close)
            raters.append(rater)
        corpus = read_sources(
            [Path(source) for source in options.source],
            min_lines=options.min_lines,
            max_lines=options.max_lines,
        )
        if not corpus.functions:
            raise SourceError(
                "There is no function to rate.",
                where=", ".join(options.source),
                remedy="Name another source.",
            )
        ratings = {rater.spec: rater.rate(tuple(corpus.functions)) for rater in raters}
        lines = (
            json.dumps(
                {
                    "function": function.key,
                    "severity": {spec: _shown(found[number]) for spec, found in ratings.items()},
                }
            )
            + "\n"
            for number, function in enumerate(corpus.functions)
        )
        if options.output == "-":
            sys.stdout.writelines(lines)
        else:
            write_whole(Path(options.output), lines, what="file of ratings")
        for rater in raters:
            _tell(rater.spec, ratings[rater.spec], options.min_severity)
            if isinstance(rater, JudgeRater):
                sys.stderr.write(f"    {rater.tally.text}\n")
    for first, second in itertools.combinations(specs, 2):
        values = ([severity.value for severity in ratings[spec]] for spec in (first, second))
        found = agreement(*values, threshold=options.min_severity)
        sys.stderr.write(f"{_name(first)} and {_name(second)}\n")
        for line in _agreement_lines(found, options.min_severity):
            sys.stderr.write(f"    {line}\n")
    given = [any(item.value is not None for item in found) for found in ratings.values()]
    return 0 if all(given) else NO_RATING_EXIT


def _shown(severity: Severity) -> dict[str, Any]:
    return {"value": severity.value, "signature": severity.signature, "note": severity.note}


def _tell(spec: str, ratings: tuple[Severity, ...], threshold: int) -> None:
    values = [item.value for item in ratings if item.value is not None]
    counts = " ".join(f"{level}:{values.count(level)}" for level in range(1, 11))
    kept = sum(value >= threshold for value in values)
    sys.stderr.write(f"{_name(spec)}\n    {counts}\n")
    unrated = len(ratings) - len(values)
    sys.stderr.write(f"    {kept} of {len(values)} at {threshold} or above, {unrated} without a rating\n")


def _agreement_lines(found: Agreement, threshold: int) -> Iterator[str]:
    yield f"{found.functions} functions rated by both; shares with Clopper-Pearson intervals of 95 %"
    yield f"equal              {_rate(found.exact)}"
    yield f"at most one apart  {_rate(found.within_one)}"
    yield f"alike on {threshold:<2} or more {_rate(found.passed)}"
    if found.kappa is None or found.kappa_interval is None:
        yield "kappa              n/a"
    else:
        low, high = found.kappa_interval
        yield f"kappa              {found.kappa:.2f} ({low:.2f} to {high:.2f}; quadratic weights, bootstrap)"
    spearman = "n/a" if found.spearman is None else f"{found.spearman:.2f}"
    yield f"Spearman's rho     {spearman}"


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "n/a"
    share = f"{100 * rate.value:.0f} % ({100 * rate.low:.0f} to {100 * rate.high:.0f})"
    return f"{rate.numerator}/{rate.denominator} {share}"


def _name(spec: str) -> str:
    return shorten(visible(spec), 60)
