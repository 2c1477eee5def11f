"""``funcmem harness export|import|show|run``: harnesses as directories, from the command line.

``export`` is an audit that writes its harnesses; ``import`` puts proved harnesses into a store, where audits
find them before they build any; ``run`` proves harnesses again and reruns the verdicts that rest on them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import SourceError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Harness, Inconclusive, Language

if TYPE_CHECKING:
    from pytest_funcmem.audit.world import World
    from pytest_funcmem.exchange.rerunning import Proved

__all__ = ["add_harness_command", "run_harness_command"]

DIFFERS_EXIT = 1
NOT_PROVED_EXIT = 6


def add_harness_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``harness`` to the commands of ``funcmem``."""
    parser = commands.add_parser(
        "harness",
        help="export, review, edit, import and rerun harnesses as directories",
        description="Harnesses as directories: what surrounds a function, its input states, what it does on "
        "them. Exits with 1 where a verdict comes out otherwise, and with 6 where a harness may not judge.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    defaults = Settings()
    export = actions.add_parser(
        "export",
        help="audit PATH and write its harnesses; other arguments go to pytest",
        description="The same as funcmem audit PATH --funcmem-report=harness:DIR; what the store has is not "
        "computed again. All other arguments go to pytest.",
    )
    export.add_argument("directory", metavar="DIR", help="where the harnesses go")
    export.add_argument("path", metavar="PATH", help="file, directory or data set")
    show = actions.add_parser("show", help="print harnesses for people")
    run = actions.add_parser("run", help="prove harnesses again and rerun their verdicts")
    run.add_argument(
        "--code",
        metavar="FILE",
        action="append",
        default=[],
        help="run this function, or what follows its signature, instead of the completions (repeatable)",
    )
    imported = actions.add_parser("import", help="prove harnesses and put them into a store for audits")
    imported.add_argument(
        "--store", metavar="DIR", default=defaults.store, help="directory of finished results"
    )
    for action in (show, run, imported):
        action.add_argument("directory", metavar="DIR", help="a harness, or a directory of some")
    for action in (run, imported):
        action.add_argument(
            "--sandbox",
            choices=["auto", "docker", "namespace"],
            default=defaults.sandbox,
            help="where code runs",
        )
        action.add_argument(
            "--budget", type=float, default=defaults.budget, metavar="S", help="seconds a harness"
        )


def run_harness_command(options: argparse.Namespace) -> int:
    """Show, run or import; ``export`` is the business of whoever starts audits.

    Returns:
        0; 1 where a verdict comes out otherwise than was written down; 6 where a harness may not judge.

    Raises:
        UsageError: A directory or a file is not as it should be.
        SandboxError: The sandbox failed.
        StoreError: The store cannot be written.
    """
    root = Path(options.directory)
    match options.action:
        case "show":
            return _show(root)
        case "run":
            return _run(root, _settings(options), [_code(Path(path)) for path in options.code])
        case _:
            return _import(root, _settings(options), Path(options.store))


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(sandbox=options.sandbox, budget=options.budget)


def _code(path: Path) -> tuple[str, str]:
    try:
        return str(path), path.read_bytes().decode("utf-8")
    except OSError as exc:
        raise SourceError(f"The code cannot be read: {exc.strerror or exc}.", where=str(path)) from exc
    except UnicodeDecodeError as exc:
        raise SourceError("The code is not UTF-8.", where=f"{path}, byte {exc.start}") from exc


def _say(line: str) -> None:
    from pytest_funcmem.reporting.plain_text import visible

    sys.stdout.write(visible(line) + "\n")


def _show(root: Path) -> int:
    from pytest_funcmem.exchange.directory import find_harnesses, read_harness
    from pytest_funcmem.reporting.states import input_lines, output_parts

    for place in find_harnesses(root):
        found = read_harness(place)
        harness, evidence = found.harness, found.harness.evidence
        strength = "no mutants" if evidence.strength is None else f"strength {evidence.strength:.0%}"
        _say(f"{found.function.key}  ({found.function.language}, built by {harness.builder})")
        _say(f"  {place}{', edited since it was proved' if found.edited else ''}")
        _say(
            f"  {len(harness.states)} input states, {evidence.outputs} distinct outputs, "
            f"coverage {evidence.coverage:.0%}, {strength}"
        )
        if harness.scaffold.mocks:
            _say(f"  made up: {', '.join(harness.scaffold.mocks)}")
        for number, (state, output) in enumerate(
            zip(harness.states, harness.expected, strict=False), start=1
        ):
            _say(f"  {number:>3}  {'; '.join(input_lines(state, width=100, most=6))}")
            for name, part in output_parts(output).items():
                _say(f"         {name}: {part.text[:200]}")
        if found.verdict is not None:
            _say(f"  the audit said {found.verdict.kind}: {found.verdict.reason}")
    return 0


@contextmanager
def _open_world(settings: Settings, languages: Sequence[Language]) -> Iterator[World]:
    from pytest_funcmem.audit.world import open_world

    world = open_world(
        settings.sandbox,
        languages,
        workers=1,
        image=settings.image,
        packages=settings.packages,
        runtime=settings.runtime,
        progress=_note,
    )
    for notice in world.notices:
        _note(notice)
    try:
        yield world
    finally:
        world.sandbox.close()


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _run(root: Path, settings: Settings, codes: Sequence[tuple[str, str]]) -> int:
    from pytest_funcmem.exchange.directory import find_harnesses, read_harness
    from pytest_funcmem.exchange.rerunning import prove_again, rerun, run_code

    exchanged = [read_harness(place) for place in find_harnesses(root)]
    exit_code = 0
    with _open_world(settings, [found.function.language for found in exchanged]) as world:
        for found in exchanged:
            key = found.function.key
            why = world.lacking.get(found.function.language)
            proved = None if why else prove_again(found, world.sandbox, settings)
            harness = None if proved is None else proved.harness
            if proved is None or not isinstance(harness, Harness):
                exit_code = NOT_PROVED_EXIT
                reason = (
                    why if not isinstance(harness, Inconclusive) else f"{harness.reason}: {harness.detail}"
                )
                _say(f"{key}: may not judge here, {reason}")
                continue
            if proved.differing:
                exit_code = NOT_PROVED_EXIT
                places = ", ".join(str(place + 1) for place in proved.differing)
                _say(f"{key}: may not judge here, the original does something else on state {places}")
                continue
            _say(f"{key}: proved again{', as edited' if found.edited else ''}, {len(harness.states)} states")
            _say_left_out(proved)
            for name, code in codes:
                score, matches, problem = run_code(found, harness, code, world.sandbox, settings)
                shown = "".join("=" if match else "x" for match in matches)
                _say(f"  {name}: SIM_func {score:.2f}  {shown}{f'  {problem}' if problem else ''}")
            record = None if codes else rerun(found, harness, world, settings)
            if record is not None and found.verdict is not None:
                same = record.verdict.kind == found.verdict.kind
                exit_code = exit_code or (0 if same else DIFFERS_EXIT)
                _say(f"  {record.verdict.kind}: {record.verdict.reason}")
                _say(f"  {'as the audit decided' if same else f'the audit decided {found.verdict.kind}'}")
    return exit_code


def _say_left_out(proved: Proved) -> None:
    """Say which states a person wrote that the harness goes without."""
    if not proved.left_out:
        return
    places = [str(place + 1) for place in proved.left_out_places]
    named = f" (number {', '.join(places)} of the file)" if places else ""
    _say(
        f"  left out {proved.left_out} of the states that were written{named}: each must be run twice alike,"
        " end as the original means to, and repeat no other"
    )


def _import(root: Path, settings: Settings, store_path: Path) -> int:
    from pytest_funcmem.audit.judging import IMPORTED, imported_key
    from pytest_funcmem.exchange.directory import find_harnesses, read_harness
    from pytest_funcmem.exchange.rerunning import prove_again
    from pytest_funcmem.store import DirectoryStore
    from pytest_funcmem.store.codec import encode

    exchanged = [read_harness(place) for place in find_harnesses(root)]
    store = DirectoryStore(store_path)
    store.prepare()
    exit_code = 0
    with _open_world(settings, [found.function.language for found in exchanged]) as world:
        for found in exchanged:
            key = found.function.key
            why = world.lacking.get(found.function.language)
            proved = None if why else prove_again(found, world.sandbox, settings)
            if proved is None or not isinstance(proved.harness, Harness) or proved.differing:
                exit_code = NOT_PROVED_EXIT
                _say(f"{key}: not imported, it may not judge here (funcmem harness run says why)")
                continue
            store.put(IMPORTED, imported_key(found.function), encode(proved.harness))
            _say(f"{key}: imported, {digest(encode(proved.harness))[:16]}")
            _say_left_out(proved)
    return exit_code
