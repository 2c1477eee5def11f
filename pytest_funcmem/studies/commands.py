"""``funcmem proxies RESULTS…`` and ``funcmem sweep RESULTS…``: studies of finished audits.

Tables go to standard output, the whole study as JSON and its images where they are wanted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.records import Json
from pytest_funcmem.reporting.files import write_whole

__all__ = ["add_study_commands", "run_proxies_command", "run_sweep_command"]


def add_study_commands(commands: Any) -> None:
    """Add ``proxies`` and ``sweep`` to the command's subparsers."""
    proxies = commands.add_parser(
        "proxies",
        help="say what cheap scores are worth in place of execution, from finished audits",
        description="Hold every score of finished audits against execution: correlation, ROC, thresholds,"
        " and what is saved where execution confirms only what a score ranks first.",
    )
    _add_common(proxies)
    proxies.add_argument(
        "--side",
        choices=("target", "reference", "both"),
        default="target",
        help="whose completions (%(default)s)",
    )
    proxies.add_argument(
        "--tau-func", metavar="T", type=float, default=None, help="SIM_func of a positive (the audits' own)"
    )
    proxies.add_argument(
        "--fpr",
        metavar="RATES",
        default="0.001,0.01,0.05",
        help="false-positive rates to keep, with commas between them (%(default)s)",
    )
    proxies.add_argument(
        "--rank",
        choices=("score", "difference"),
        default="difference",
        help="rank the cascade by the target's score, or by what it has over the reference's (%(default)s)",
    )
    proxies.add_argument(
        "--budget", metavar="N", type=int, default=None, help="executions that the cascade may make"
    )
    proxies.add_argument(
        "--resamples", metavar="N", type=int, default=2000, help="of bootstrap intervals (%(default)s)"
    )
    proxies.add_argument("--seed", metavar="N", type=int, default=0, help="of their draws (%(default)s)")
    sweep = commands.add_parser(
        "sweep",
        help="count verdicts under other thresholds, from finished audits",
        description="Count verdicts over tau_func, tau_text, coverage and input states, and name the"
        " functions whose verdict changes under a threshold nearby. Nothing is run again.",
    )
    _add_common(sweep)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULTS", nargs="+", help="JSON reports of finished audits")
    parser.add_argument("--output", "-o", metavar="FILE", default=None, help="write the study as JSON")
    parser.add_argument("--images", metavar="DIR", default=None, help="draw images there (extra 'plots')")
    parser.add_argument(
        "--format", choices=("png", "svg", "pdf"), default="png", help="of images (%(default)s)"
    )


def run_proxies_command(options: argparse.Namespace) -> int:
    """Study proxies; gives the exit code.

    Raises:
        UsageError: An argument or a report is wrong.
        MissingExtraError: Images are wanted and matplotlib is not installed.
    """
    from pytest_funcmem.studies.proxies import ProxySettings, study_proxies
    from pytest_funcmem.studies.results import read_results
    from pytest_funcmem.studies.tables import proxy_lines

    settings = ProxySettings(
        side=options.side,
        tau_func=_within(options.tau_func, "--tau-func", 0.0, 1.0),
        fprs=_rates(options.fpr),
        rank=options.rank,
        budget=_within(options.budget, "--budget", 1, 10**9),
        rounds=_within(options.resamples, "--resamples", 1, 1_000_000),
        seed=_within(options.seed, "--seed", 0, 2**31 - 1),
    )
    study = study_proxies(read_results([Path(path) for path in options.results]), settings)
    _show(proxy_lines(study))
    _write(options.output, study.as_json())
    if options.images is not None:
        from pytest_funcmem.studies.images import draw_proxies

        _tell(draw_proxies(study, Path(options.images), options.format))
    return 0


def run_sweep_command(options: argparse.Namespace) -> int:
    """Sweep thresholds; gives the exit code.

    Raises:
        UsageError: A report is wrong.
        MissingExtraError: Images are wanted and matplotlib is not installed.
    """
    from pytest_funcmem.studies.results import read_results
    from pytest_funcmem.studies.sweep import sweep
    from pytest_funcmem.studies.tables import sweep_lines

    study = sweep(read_results([Path(path) for path in options.results]))
    _show(sweep_lines(study))
    _write(options.output, study.as_json())
    if options.images is not None:
        from pytest_funcmem.studies.images import draw_sweep

        _tell(draw_sweep(study, Path(options.images), options.format))
    return 0


def _within(value: Any, flag: str, low: float, high: float) -> Any:
    if value is not None and not low <= value <= high:  # also refuses NaN
        raise UsageError(
            f"{value!r} is not a value of {flag}.", where=flag, expected=f"a number from {low:g} to {high:g}"
        )
    return value


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        rates = ()
    if not rates or not all(0 < rate < 1 for rate in rates):
        raise UsageError(
            f"{text!r} is no list of false-positive rates.",
            where="--fpr",
            expected="numbers between 0 and 1 with commas between them, such as 0.001,0.01",
        )
    return rates


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()  # a reader that is gone is told of here, and not when the interpreter ends


def _write(file: str | None, study: Json) -> None:
    if file is not None:
        text = json.dumps(study, ensure_ascii=True, allow_nan=False, indent=1) + "\n"
        write_whole(Path(file), [text], what="study")


def _tell(paths: Iterable[Path]) -> None:
    for path in paths:
        sys.stderr.write(f"image {path}\n")
