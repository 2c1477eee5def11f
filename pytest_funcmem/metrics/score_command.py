"""``funcmem score FILE``: scores pairs of functions without an audit.

FILE holds one JSON object a line, ``{"id", "language", "original", "candidate"}``; what comes out holds one a
line too, in the same order: ``{"id", "language", "scores": {metric: {"value", "signature", "note"}}}``, where
``value`` is null if the metric gave no figure. Rows are read, scored and written some at a time.

This module knows neither where results are kept nor what a figure means.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, get_args

from pytest_funcmem.core.errors import SourceError, UsageError
from pytest_funcmem.core.protocols import CodePair, Metric, Score, Store
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics.choice import DEFAULT_METRICS, MetricSettings, open_metrics, split_names
from pytest_funcmem.models.prices import parse_price, read_prices

__all__ = ["add_score_command", "run_score_command"]

NO_FIGURES_EXIT = 6
_TOGETHER = 256
_TOGETHER_IN_BATCHES = 5_000
_FIELDS = ("id", "language", "original", "candidate")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: str
    pair: CodePair


@dataclass(slots=True, kw_only=True)
class _Tally:
    figures: int = 0
    total: float = 0.0
    missing: int = 0


def add_score_command(commands: Any) -> None:
    """Add ``score`` to the command's subparsers."""
    parser = commands.add_parser(
        "score",
        help="score pairs of functions without an audit",
        description='Score pairs, one JSON object a line: {"id", "language", "original", "candidate"}.',
    )
    parser.add_argument("file", metavar="FILE", help="pairs; - is standard input")
    parser.add_argument(
        "--metrics",
        metavar="NAMES",
        default=",".join(DEFAULT_METRICS),
        help="metrics with commas between them, embedding:MODEL and judge:PROMPT@SPEC among them"
        " (default: %(default)s)",
    )
    parser.add_argument("--output", "-o", metavar="FILE", default="-", help="where to; - is standard output")
    parser.add_argument(
        "--store", metavar="DIR", default=".funcmem", help="where answers of servers are kept"
    )
    parser.add_argument("--device", metavar="NAME", default="auto", help="torch device of models")
    parser.add_argument(
        "--max-cost", metavar="USD", type=float, default=None, help="most that each judge may cost"
    )
    parser.add_argument(
        "--price", metavar="INPUT,OUTPUT", default=None, help="judges' price, dollars a million tokens"
    )
    parser.add_argument(
        "--prices", metavar="FILE", default=None, help='table of prices, JSON: {"MODEL": [INPUT, OUTPUT]}'
    )
    parser.add_argument("--batch", action="store_true", help="ask anthropic: judges by the batch endpoint")


def run_score_command(options: argparse.Namespace, open_store: Callable[[Path], Store]) -> int:
    """Score the pairs of a file.

    Args:
        options: The parsed arguments.
        open_store: Opens the directory where answers of servers are kept; called only if a metric has any.

    Returns:
        0, or 6 where a metric gave no figure for any pair.

    Raises:
        UsageError: An argument is wrong.
        SourceError: The file cannot be read, or a row of it is no pair.
        AuditError: An engine behind a metric failed.
    """
    names = split_names(options.metrics)
    if options.max_cost is not None and not 0 <= options.max_cost < float("inf"):
        raise UsageError("A cost cap is a number of dollars.", where="--max-cost", expected="at least 0")
    settings = MetricSettings(
        device=options.device,
        max_cost=options.max_cost,
        price=parse_price(options.price) if options.price is not None else None,
        prices=read_prices(Path(options.prices)) if options.prices is not None else None,
        batch=options.batch,
    )
    if options.file != "-":
        _check(Path(options.file))
    store = open_store(Path(options.store)) if any(":" in name for name in names) else None
    tallies = {name: _Tally() for name in names}
    together = _TOGETHER_IN_BATCHES if options.batch else _TOGETHER
    count = 0
    with (
        open_metrics(names, store=store, settings=settings) as metrics,
        _input(options.file) as lines,
        _output(options.output) as out,
    ):
        rows = _rows(lines, where=options.file)
        while some := tuple(itertools.islice(rows, together)):
            count += len(some)
            for line in _scored(some, metrics, tallies):
                out.write(line + "\n")
        if not count:
            raise _no_pairs(options.file)
        _tell(count, metrics, tallies)
    return 0 if all(tally.figures for tally in tallies.values()) else NO_FIGURES_EXIT


# ------------------------------------------------------------------------------------------------ reading


def _check(path: Path) -> None:
    """Look at all rows before any is scored: a broken one is then told of at once, and costs nothing."""
    with _input(str(path)) as lines:
        if not sum(1 for _ in _rows(lines, where=str(path))):
            raise _no_pairs(str(path))


@contextmanager
def _input(name: str) -> Iterator[Iterable[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below; opening alone may fail here
    except OSError as exc:
        raise SourceError(
            f"The file of pairs cannot be read: {exc.strerror or exc}.",
            where=name,
            expected="a file with one JSON object a line",
            remedy="Mend the path.",
        ) from exc
    with stream:
        yield stream


def _rows(lines: Iterable[bytes], *, where: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(line.removeprefix(b"\xef\xbb\xbf"), f"{where}:{number}")


def _row(line: bytes, where: str) -> _Row:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as exc:
        reason = "it is not UTF-8" if isinstance(exc, UnicodeDecodeError) else str(exc)
        raise _bad(f"A row is no JSON: {reason}.", where) from exc
    if not isinstance(value, dict):
        raise _bad("A row is no JSON object.", where)
    for field in _FIELDS:
        if field not in value:
            raise _bad(f"A row has no {field!r}.", where)
        if not isinstance(value[field], str) and not (field == "id" and type(value[field]) is int):
            raise _bad(f"A row's {field!r} is no text.", where)
    language = value["language"].strip().lower()
    if language not in get_args(Language):
        raise SourceError(
            f"A row's language {value['language']!r} is not one that can be compared.",
            where=where,
            expected="one of " + ", ".join(get_args(Language)),
            remedy="Mend or drop the row.",
        )
    pair = CodePair(language=language, original=value["original"], candidate=value["candidate"])
    return _Row(id=str(value["id"]), pair=pair)


def _bad(what: str, where: str) -> SourceError:
    return SourceError(
        what,
        where=where,
        expected='{"id": "…", "language": "python", "original": "…", "candidate": "…"}',
        remedy="Mend or drop the row.",
    )


def _no_pairs(where: str) -> SourceError:
    return SourceError(
        "The file holds no pairs.", where=where, expected="one JSON object a line", remedy="Name another."
    )


# ------------------------------------------------------------------------------------------------ writing


def _scored(rows: tuple[_Row, ...], metrics: tuple[Metric, ...], tallies: dict[str, _Tally]) -> Iterator[str]:
    pairs = [row.pair for row in rows]
    columns = [(metric.name, metric.scores(pairs)) for metric in metrics]
    for number, row in enumerate(rows):
        scores = {}
        for name, column in columns:
            score = column[number]
            _count(tallies[name], score)
            scores[name] = {"value": score.value, "signature": score.signature, "note": score.note}
        yield json.dumps({"id": row.id, "language": row.pair.language, "scores": scores})


def _count(tally: _Tally, score: Score) -> None:
    if score.value is None:
        tally.missing += 1
    else:
        tally.figures += 1
        tally.total += score.value


@contextmanager
def _output(name: str) -> Iterator[IO[str]]:
    """Standard output, or a file that is seen only when it is whole."""
    if name == "-":
        yield sys.stdout
        return
    path = Path(name)
    try:
        handle, beside = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    except OSError as exc:
        raise UsageError(
            f"The file of scores cannot be written: {exc.strerror or exc}.",
            where=name,
            remedy="Name a place that can be written to.",
        ) from exc
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield stream
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _tell(count: int, metrics: tuple[Metric, ...], tallies: dict[str, _Tally]) -> None:
    """A line for each metric, on standard error."""
    from pytest_funcmem.metrics.judging.judge import Judge

    sys.stderr.write(f"{count} pairs\n")
    width = max(len(metric.name) for metric in metrics)
    for metric in metrics:
        tally = tallies[metric.name]
        mean = f"mean {tally.total / tally.figures:.3f}" if tally.figures else "no figure"
        line = f"  {metric.name:{width}}  {mean}"
        if tally.missing:
            line += f", {tally.missing} without a figure"
        if isinstance(metric, Judge):
            line += f" ({metric.tally.text})"
        sys.stderr.write(line + "\n")
