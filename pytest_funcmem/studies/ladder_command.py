"""``funcmem ladder DATASET``: how many functions each level of context makes conclusive."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_funcmem.core.errors import SourceError, UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Builder, Store
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.reporting.files import write_whole

if TYPE_CHECKING:
    from pytest_funcmem.harness.ladder.asking import Asker
    from pytest_funcmem.harness.ladder.levels import Level
    from pytest_funcmem.models.prices import Price

__all__ = ["add_ladder_command", "run_ladder_command"]

CAPPED_EXIT = 6
_FIGURES = (".png", ".svg", ".pdf")


def add_ladder_command(commands: Any) -> None:
    """Add ``ladder`` to the command's subparsers."""
    defaults = Settings()
    parser = commands.add_parser(
        "ladder",
        help="count the functions that each level of context makes conclusive (Python only)",
        description="Take the Python functions of a data set up the paper's ladder: the function alone, with"
        " common imports, with a generated preamble, with one retry of that, with the local builder, with the"
        " agent. The first four share generated inputs and need a --model.",
    )
    parser.add_argument("source", metavar="DATASET", nargs="+", help="file, directory or data set")
    parser.add_argument(
        "--model", metavar="SPEC", default=None, help="anthropic:MODEL or openai:BASE_URL#MODEL"
    )
    parser.add_argument(
        "--levels",
        metavar="LEVELS",
        default=None,
        help="which, with commas between them: bare, imports, preamble, retry, local, agent"
        " (default: all that the other arguments allow)",
    )
    parser.add_argument("--limit", metavar="N", type=int, default=None, help="draw so many functions")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of draws and searches (0)")
    for name in ("min_lines", "max_lines"):
        flag = "--" + name.replace("_", "-")
        parser.add_argument(
            flag, type=int, default=getattr(defaults, name), metavar="N", help="body lines (%(default)s)"
        )
    parser.add_argument("--store", metavar="DIR", default=defaults.store, help="where answers are kept")
    parser.add_argument("--max-cost", metavar="USD", type=float, default=None, help="most this run may cost")
    parser.add_argument(
        "--agent-limit",
        metavar="LIMITS",
        default=None,
        help="most that the agent of one function may use, as of --funcmem-agent-limit",
    )
    parser.add_argument("--prices", metavar="FILE", default=None, help="table of prices, as JSON")
    parser.add_argument(
        "--sandbox", choices=("auto", "docker", "namespace"), default="auto", help="(%(default)s)"
    )
    parser.add_argument(
        "--image", metavar="IMAGE", default=None, help="Docker image instead of this package's"
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=0, help="functions at one time; 0 is one per core"
    )
    parser.add_argument("--figure", metavar="FILE", default=None, help="draw it (.png, .svg or .pdf)")
    parser.add_argument("--json", metavar="FILE", default=None, help="write the study as JSON")


def run_ladder_command(options: argparse.Namespace, open_store: Callable[[Path], Store]) -> int:
    """Climb the ladder and show it; gives the exit code.

    Args:
        options: The parsed arguments.
        open_store: Opens the directory where answers and harnesses are kept.

    Returns:
        0, or 6 where the cost cap left functions out.

    Raises:
        UsageError: An argument is wrong.
        SourceError: There is no Python function.
        AuditError: The model or the sandbox failed.
    """
    # What runs functions is heavy, and the parser of every command imports this module.
    from pytest_funcmem.audit.world import world_of
    from pytest_funcmem.harness.agent.builder import AGENT_PROGRAMS, AgentBuilder
    from pytest_funcmem.harness.execution import PROGRAMS
    from pytest_funcmem.sandbox.choice import open_sandbox
    from pytest_funcmem.studies.ladder import study_ladder
    from pytest_funcmem.studies.ladder_agent import AgentLevel
    from pytest_funcmem.studies.ladder_shown import draw_ladder, ladder_lines

    _check(options)
    levels = _levels(options)
    functions = _functions(options)
    settings = replace(Settings(), seed=options.seed)
    store = open_store(Path(options.store))
    with ExitStack() as stack:
        generated = bool(set(levels) - {"local", "agent"})
        asker = _asker(options, store, stack) if generated else None
        builders = _builders(levels, settings, stack)
        if "agent" in levels:
            _check_agent(options)  # before anything is paid for
        sandbox = stack.enter_context(
            open_sandbox(
                options.sandbox,
                programs={**PROGRAMS, **(AGENT_PROGRAMS if "agent" in levels else {})},
                workers=options.workers,
                image=options.image,
                progress=_tell,
            )
        )
        for notice in sandbox.notices:
            _tell(notice)
        world = world_of(sandbox)
        agents: list[AgentBuilder] = []

        def hire() -> AgentLevel:
            left = None
            if options.max_cost is not None:
                spent = 0.0 if asker is None else asker.spent or 0.0
                left = f"cost={max(0.0, options.max_cost - spent):.12f}"
            own = replace(
                settings,
                agent=options.model,
                agent_limit=options.agent_limit,
                agent_run_limit=left,
                prices=options.prices,
            )
            agents.append(AgentBuilder(own, store=store))
            stack.callback(agents[0].close)
            return AgentLevel(agents[0], sandbox=sandbox, world=world, store=store, settings=own)

        study = study_ladder(
            functions,
            levels,
            sandbox=sandbox,
            world=world,
            store=store,
            settings=settings,
            asker=asker,
            model=options.model if generated or "agent" in levels else None,
            builders=builders,
            agent=hire if "agent" in levels else None,
            workers=options.workers or os.cpu_count() or 1,
            progress=_tell,
        )
        for agent in agents:
            agent.finish()
    for line in ladder_lines(study):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()  # a reader that is gone is told of here, and not when the interpreter ends
    if asker is not None:
        spent = "at a price that is not known" if asker.spent is None else f"${asker.spent:.4f} spent"
        _tell(f"this run: {asker.asked} questions asked, {asker.reused} answered by the store, {spent}")
    for agent in agents:
        used = agent.allowance.used
        _tell(f"this run: {used.turns} answers of agents, ${used.cost:.4f} spent")
    if options.json is not None:
        text = json.dumps(study.as_json(), ensure_ascii=True, allow_nan=False, indent=1) + "\n"
        write_whole(Path(options.json), [text], what="study")
    if options.figure is not None:
        _tell(f"image {draw_ladder(study, Path(options.figure))}")
    if study.left_out:
        _tell(f"--max-cost left out {study.left_out} of {len(functions)} functions; run again to go on")
        return CAPPED_EXIT
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse what is wrong before anything is paid for.

    Raises:
        UsageError: An argument is wrong.
        MissingExtraError: A figure is wanted and matplotlib is not installed.
    """
    for flag, value, low in (("--limit", options.limit, 1), ("--workers", options.workers, 0)):
        if value is not None and value < low:
            raise UsageError(f"{value} is not a value of {flag}.", where=flag, expected=f"at least {low}")
    if options.max_cost is not None and not 0 <= options.max_cost < float("inf"):
        raise UsageError("A cost cap is a number of dollars.", where="--max-cost", expected="at least 0")
    if options.figure is not None:
        if Path(options.figure).suffix not in _FIGURES:
            raise UsageError(
                f"No image can be written as {options.figure!r}.",
                where="--figure",
                expected="a file that ends in " + ", ".join(_FIGURES),
            )
        from pytest_funcmem.studies.images import require_matplotlib

        require_matplotlib()


def _levels(options: argparse.Namespace) -> tuple[Level, ...]:
    from pytest_funcmem.harness.ladder.levels import BUILT_LEVELS, GENERATED_LEVELS, LEVELS

    there = LEVELS
    needs_model = {*GENERATED_LEVELS, "agent"}
    if options.levels is None:
        if options.model is not None:
            return there
        _tell(
            "Without a --model there are no generated inputs and no agent: bare, imports, preamble, retry and"
            " agent are skipped."
        )
        return tuple(level for level in BUILT_LEVELS if level not in needs_model)
    asked = [part.strip() for part in options.levels.split(",")]
    unknown = [part for part in asked if part not in there]
    if unknown or len(set(asked)) < len(asked):
        raise UsageError(
            f"{options.levels!r} is no list of levels.",
            where="--levels",
            expected="each at most once, with commas between them: " + ", ".join(there),
        )
    lacking = [level for level in asked if level in needs_model]
    if lacking and options.model is None:
        raise UsageError(
            f"The levels {', '.join(lacking)} need a model.",
            where="--levels",
            expected="--model anthropic:MODEL or --model openai:BASE_URL#MODEL",
            remedy="Name a model, or take --levels local.",
        )
    return tuple(level for level in there if level in asked)


def _functions(options: argparse.Namespace) -> Sequence[SourceFunction]:
    from pytest_funcmem.corpora import read_sources, sample

    corpus = read_sources(
        [Path(source) for source in options.source], min_lines=options.min_lines, max_lines=options.max_lines
    )
    functions: Sequence[SourceFunction] = [item for item in corpus.functions if item.language == "python"]
    others = sorted({item.language for item in corpus.functions} - {"python"})
    if not functions:
        raise SourceError(
            f"The ladder is for Python alone, as in the paper; these functions are in {', '.join(others)}."
            if others
            else "There is no function to take up the ladder.",
            where=", ".join(options.source),
            expected=f"Python functions of {options.min_lines} to {options.max_lines} body lines",
            remedy="Name another source, or set --min-lines and --max-lines.",
        )
    if others:
        left = len(corpus.functions) - len(functions)
        _tell(f"{left} functions in {', '.join(others)} are left out: the ladder is for Python alone.")
    if options.limit is not None:
        functions = sample(functions, options.limit, seed=options.seed)
    return functions


def _asker(options: argparse.Namespace, store: Store, stack: ExitStack) -> Asker:
    from pytest_funcmem.harness.ladder.asking import Asker
    from pytest_funcmem.models.dialogue.opening import open_dialogue
    from pytest_funcmem.models.prices import Purse

    model = open_dialogue(options.model)
    stack.callback(model.close)
    return Asker(model, store=store, purse=Purse(options.max_cost), price=_price(options))


def _price(options: argparse.Namespace) -> Price | None:
    from pytest_funcmem.models.prices import listed_price, read_prices

    return listed_price(
        options.model, read_prices(Path(options.prices)) if options.prices is not None else {}
    )


def _check_agent(options: argparse.Namespace) -> None:
    """Refuse what agents could not work under.

    Raises:
        UsageError: A limit cannot be read, or there is one of money and no price.
    """
    from pytest_funcmem.harness.agent.limits import FUNCTION_LIMITS, parse_limits

    limits = parse_limits(options.agent_limit, where="--agent-limit", usual=FUNCTION_LIMITS)
    if _price(options) is None and not options.max_cost is limits.cost is None:
        raise UsageError(
            f"What {options.model} costs is not known, so a cost cap cannot be kept.",
            where="--max-cost, --agent-limit",
            remedy='Give its price in dollars for a million tokens: --prices FILE with {"MODEL": [INPUT,'
            " OUTPUT]}.",
        )


def _builders(levels: Sequence[Level], settings: Settings, stack: ExitStack) -> dict[Level, Builder]:
    from pytest_funcmem.harness.builder_process import ProcessBuilder

    builders: dict[Level, Builder] = {}
    if "local" in levels:
        local = ProcessBuilder("local/python", settings)
        stack.callback(local.close)
        builders["local"] = local
    return builders


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
