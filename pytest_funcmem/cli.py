"""The ``funcmem`` command: what is not a pytest run of one's own project.

``funcmem audit PATH`` starts pytest itself, with its own root and ini file, so that nothing of an untrusted
tree configures the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_funcmem import __version__
from pytest_funcmem.core.errors import FuncmemError, SourceError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import PromptCutter
from pytest_funcmem.exchange.command import add_harness_command, run_harness_command
from pytest_funcmem.metrics.score_command import add_score_command, run_score_command
from pytest_funcmem.store.command import add_store_command, run_store_command
from pytest_funcmem.studies.commands import add_study_commands, run_proxies_command, run_sweep_command
from pytest_funcmem.studies.ladder_command import add_ladder_command, run_ladder_command
from pytest_funcmem.studies.severity_command import add_severity_command, run_severity_command

if TYPE_CHECKING:
    from pytest_funcmem.reporting.json_report import JsonReport

__all__ = ["main"]

USAGE_EXIT = 4
CUT_EXIT = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Arguments after the program's name; those of the process by default.

    Returns:
        The exit code: 0 done, 1 where ``doctor`` or ``store verify`` finds a fault, 4 usage, 141 where what
        reads the output stopped reading; for ``audit`` pytest's own.
    """
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    starts_audit = options.command == "audit" or getattr(options, "action", None) == "export"
    if rest and not starts_audit:
        parser.error("unrecognized arguments: " + " ".join(rest))
    try:
        match options.command:
            case "audit":
                return _audit(Path(options.path), rest)
            case "harness" if options.action == "export":
                return _audit(Path(options.path), [*rest, f"--funcmem-report=harness:{options.directory}"])
            case "harness":
                return run_harness_command(options)
            case "prompts":
                return _prompts(options)
            case "score":
                return _score(options)
            case "proxies":
                return run_proxies_command(options)
            case "sweep":
                return run_sweep_command(options)
            case "severity":
                return _severity(options)
            case "ladder":
                return _ladder(options)
            case "store":
                return _store(options)
            case "compare":
                return _compare(options)
            case "images":
                return _build_images(options)
            case "doctor":
                return _doctor(options)
            case _:
                parser.print_help()
                return USAGE_EXIT
    except FuncmemError as error:
        sys.stderr.write(f"funcmem: {error}\n")
        return USAGE_EXIT
    except BrokenPipeError:
        # Who reads along has read enough; the interpreter must not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_EXIT


class _Parser(argparse.ArgumentParser):
    """Ends with the exit code that every other unusable input has; argparse's own would be 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_EXIT, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="funcmem", description="Audit code language models for functional memorization.")
    parser.add_argument("--version", action="version", version=f"pytest-funcmem {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        help="audit a tree that is not trusted; other arguments go to pytest",
        description="Audit PATH without the pytest configuration in it. All other arguments go to pytest.",
    )
    audit.add_argument("path", metavar="PATH", help="file, directory or data set")
    prompts = commands.add_parser(
        "prompts",
        help="write the prompts of a source, for a cluster to complete",
        description="Write one JSON object a line: {function, prompt}. Complete each and give the answers "
        "back as --funcmem-model=replay:FILE.",
    )
    prompts.add_argument("source", metavar="PATH", nargs="+", help="file, directory or data set")
    prompts.add_argument("--output", "-o", metavar="FILE", default="-", help="where to; - is standard output")
    prompts.add_argument(
        "--tokenizer",
        metavar="SPEC",
        default=None,
        help="model whose tokenizer cuts the prompts, as hf:PATH_OR_ID; the named fallback by default",
    )
    defaults = Settings()
    for name in ("min_lines", "max_lines", "prefix_tokens"):
        flag = "--" + name.replace("_", "-")
        prompts.add_argument(
            flag,
            type=int,
            default=getattr(defaults, name),
            metavar="N",
            help=f"as of --funcmem{flag[1:]}; it has to be the same in the audit (default: %(default)s)",
        )
    add_score_command(commands)
    add_study_commands(commands)
    add_severity_command(commands)
    add_ladder_command(commands)
    add_harness_command(commands)
    add_store_command(commands)
    compare = commands.add_parser(
        "compare",
        help="show what changed between two checkpoints",
        description="Compare two JSON reports of the same functions: new, gone and same leaks, and their "
        "rates with McNemar's exact test.",
    )
    compare.add_argument("before", metavar="A", help="JSON report of the first checkpoint")
    compare.add_argument("after", metavar="B", help="JSON report of the second checkpoint")
    compare.add_argument("--json", action="store_true", help="write one JSON object instead of a table")
    images = commands.add_parser("images", help="build the sandbox images")
    images.add_argument("action", choices=["build"])
    images.add_argument("--base", metavar="IMAGE", default=None, help="image to build upon")
    images.add_argument(
        "--language",
        metavar="L",
        action="append",
        default=[],
        help="build this language's image only (repeatable): python, c, java, rust, go",
    )
    doctor = commands.add_parser(
        "doctor",
        help="check this machine, and remove what killed runs left",
        description="Check engine, images, disk, namespaces and packages, say what to do about each, and "
        "remove the containers of killed runs. Exits with 1 where something fails.",
    )
    doctor.add_argument(
        "--store", metavar="DIR", default=defaults.store, help="directory of finished results"
    )
    doctor.add_argument("--json", action="store_true", help="write one JSON object instead of lines")
    return parser


def _audit(path: Path, rest: Sequence[str]) -> int:
    if not path.exists():
        raise SourceError("There is nothing to audit at this path.", where=str(path), remedy="Mend the path.")
    if path.name.endswith(".funcmem.toml"):
        raise SourceError(
            "An audit file is no source.",
            where=str(path),
            expected="a directory, a source file or a data set",
            remedy=f"Run the audit file with pytest itself: pytest {shlex.quote(str(path))}"
            " (harnesses: --funcmem-report=harness:DIR).",
        )
    # The store of an untrusted tree could hold made-up results, so it is kept away from the tree.
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-funcmem" / place
    cache.mkdir(parents=True, exist_ok=True)
    ini = cache / "pytest.ini"
    ini.write_text("[pytest]\n", encoding="utf-8")
    command = [
        sys.executable,
        "-P",  # the working directory may be the tree: nothing is imported from it
        "-m",
        "pytest",
        "-c",
        str(ini),
        f"--rootdir={Path.cwd()}",  # node ids are shown relative to it; with -c nothing is read from it
        "--noconftest",
        "-o",
        f"cache_dir={cache / 'pytest_cache'}",
        "-o",
        "funcmem_command=" + shlex.join(["funcmem", "audit", str(path)]),
        f"--funcmem-source={path}",
    ]
    if not any(argument.startswith("--funcmem-store") for argument in rest):
        command.append(f"--funcmem-store={cache / 'store'}")
    return subprocess.call([*command, *rest], env=_environment_without(path.resolve()))


def _environment_without(tree: Path) -> dict[str, str]:
    """The environment, with nothing on Python's path that the audited tree could have put there."""
    environment = dict(os.environ)
    kept = [
        entry
        for entry in environment.pop("PYTHONPATH", "").split(os.pathsep)
        if entry and tree not in (Path(entry).resolve(), *Path(entry).resolve().parents)
    ]
    if kept:
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    return environment


def _prompts(options: argparse.Namespace) -> int:
    from pytest_funcmem.corpora.reading import read_sources
    from pytest_funcmem.models.open_model import open_model
    from pytest_funcmem.models.prompts import FallbackCutter
    from pytest_funcmem.models.replay_model import write_prompts
    from pytest_funcmem.reporting.summary import dropped_text

    corpus = read_sources(
        [Path(source) for source in options.source],
        min_lines=options.min_lines,
        max_lines=options.max_lines,
    )
    left_out = dropped_text(corpus.dropped)
    if not corpus.functions:
        raise SourceError(
            "There is no function to write a prompt for.",
            where=", ".join(options.source),
            expected=f"functions of {options.min_lines} to {options.max_lines} body lines"
            + (f"; left out: {left_out}" if left_out else ""),
            remedy="Name another source, or set --min-lines and --max-lines here and in the audit.",
        )
    cutter: PromptCutter = FallbackCutter()
    if options.tokenizer is not None:
        cutter = open_model(options.tokenizer, Settings()).cutter()
    prompts = [cutter.cut(function, prefix_tokens=options.prefix_tokens) for function in corpus.functions]
    try:
        write_prompts(sys.stdout if options.output == "-" else options.output, corpus.functions, prompts)
    except OSError as exc:
        raise UsageError(
            f"The prompts cannot be written: {exc.strerror or exc}.",
            where=options.output,
            remedy="Name another file with --output.",
        ) from exc
    noun = "prompt" if len(prompts) == 1 else "prompts"
    sys.stderr.write(f"{len(prompts)} {noun} written{f'; left out: {left_out}' if left_out else ''}\n")
    return 0


def _score(options: argparse.Namespace) -> int:
    from pytest_funcmem.store.directory_store import DirectoryStore

    return run_score_command(options, DirectoryStore)


def _severity(options: argparse.Namespace) -> int:
    from pytest_funcmem.store.directory_store import DirectoryStore

    return run_severity_command(options, DirectoryStore)


def _ladder(options: argparse.Namespace) -> int:
    from pytest_funcmem.store.directory_store import DirectoryStore

    return run_ladder_command(options, DirectoryStore)


def _store(options: argparse.Namespace) -> int:
    return run_store_command(options)


def _compare(options: argparse.Namespace) -> int:
    from pytest_funcmem.reporting.comparison import compare, comparison_json, comparison_lines
    from pytest_funcmem.reporting.json_report import read_report
    from pytest_funcmem.reporting.plain_text import shorten, visible
    from pytest_funcmem.reporting.run_facts import model_name

    def shown(path: str, report: JsonReport) -> str:
        return shorten(visible(f"{model_name(report.manifest, 'target')}  ({path})"), 90)

    before, after = read_report(Path(options.before)), read_report(Path(options.after))
    found = compare(before, after)
    if options.json:
        lines = [json.dumps(comparison_json(found), indent=2)]
    else:
        first, second = shown(options.before, before), shown(options.after, after)
        lines = [f"first   {first}", f"second  {second}", "", *comparison_lines(found)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _build_images(options: argparse.Namespace) -> int:
    from pytest_funcmem.sandbox.choice import build_images

    images = build_images(base=options.base, languages=options.language, progress=print_progress)
    for language, image in images:
        sys.stdout.write(f"{language} {image}\n")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from pytest_funcmem.sandbox.doctor import examine

    findings = []
    for finding in examine(Path(options.store)):
        findings.append(finding)
        if not options.json:
            sys.stdout.write(f"{finding.level:<5} {finding.name:<13} {finding.said}\n")
            if finding.remedy:
                sys.stdout.write(f"{'':<19} -> {finding.remedy}\n")
            sys.stdout.flush()
    healthy = all(finding.level != "fail" for finding in findings)
    if options.json:
        report = {"healthy": healthy, "findings": [dataclasses.asdict(finding) for finding in findings]}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0 if healthy else 1


def print_progress(text: str) -> None:
    """Show one line of progress on standard error."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
