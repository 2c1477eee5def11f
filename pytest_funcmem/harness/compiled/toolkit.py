"""What a compiled language has to offer so that harnesses can be built and run in it.

A toolkit reads the original and its file, writes what has to be compiled around the function (stand-ins for
what the file lacks, and a driver that makes arguments from integers and prints output states), and runs any
program with that scaffold in the sandbox. Searching, choosing and proving are the same for all languages and
know nothing of a language's syntax; a toolkit knows nothing of searching.

Choices. An input state is a seed and a sequence of integers, ``InputState.choices``. The driver asks for
choice after choice while it makes receiver and arguments; a stand-in asks for the choice at a place that
hashes its name, its arguments and how often it was called so, so that the order of calls does not shift other
answers. Where the sequence is used up, a hash of the state's seed and the place decides. Pools of values
(literals of the body and their neighbours, …) are part of the scaffold and fixed: a choice is an index into a
pool, or, where it is large, a number of its own. Every choice must therefore mean the same in every run with
one scaffold, and small choices should mean the more telling values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_funcmem.core.records import (
    Inconclusive,
    InputState,
    Language,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.core.registry import load

if TYPE_CHECKING:
    from pytest_funcmem.core.protocols import Sandbox
    from pytest_funcmem.harness.execution import Program
    from pytest_funcmem.harness.execution_records import Execution

__all__ = ["Prepared", "StandIn", "Toolkit", "toolkit_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A scaffold around which the original compiles.

    Attributes:
        scaffold: With ``files``: what is compiled around the function; ``mocks``: names of what is made up.
        choices: How many choices a usual state asks for: the length that a search begins with.
        special: Choices that are worth trying anywhere, in order (such as those of the body's literals).
        enough: Distinct outputs of distinct inputs with which the search ends once valid states reach every
            line. None lets it go on until nothing new comes.
        otherwise: Makes another scaffold, in which more is made up, for where too few states are found in
            this one; None where there is none. It raises what ``Toolkit.prepare`` does.
    """

    scaffold: Scaffold
    choices: int = 16
    special: tuple[int, ...] = ()
    enough: int | None = None
    otherwise: Callable[[], Prepared | Inconclusive] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Code that stands in for the original to prove a harness.

    Attributes:
        name: What it does: ``nothing``, ``constant 0``, ``commonest``, ``raise``, ``echo 1``, …
        code: The function with another body, from its signature to its end.
        lines: Where only these lines are changed, relative to the signature's: what never executes them need
            not be run. None where all is changed.
    """

    name: str
    code: str
    lines: frozenset[int] | None = None


class Toolkit(Protocol):
    """The part of a language. Made without arguments; keeps nothing of a function.

    Attributes:
        language: Which language.
        version: Goes into the builder's name, and so into the keys of stored harnesses: to be raised when the
            same function could get another harness.
        programs: What the language's sandbox is made with: program names and their files.
    """

    language: Language
    version: str
    programs: Mapping[str, Path]

    def prepare(
        self, function: SourceFunction, sandbox: Sandbox, *, check_time: Callable[[], None]
    ) -> Prepared | Inconclusive:
        """Write a scaffold with which the original compiles.

        Args:
            function: The original, from its own file; whatever is wrong with it is ``Inconclusive``.
            sandbox: Where compilers run.
            check_time: To be called before each sandbox task; raises when the budget is used up.

        Raises:
            SandboxError: The sandbox failed; nothing is known about the function.
        """
        ...

    def execute(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        states: Sequence[Sequence[InputState]],
        *,
        coverage: bool,
        state_timeout_s: float,
    ) -> tuple[Execution, ...]:
        """Compile programs that share one scaffold, and run each on its own input states.

        A state begins in a fresh process, or in what cannot be told from one. A program that does not compile
        gives ``loaded=False`` with the compiler's first message, and says nothing about the others. Lines are
        relative to the signature's line, where 0 is the signature; executable lines leave out the signature.

        Args:
            sandbox: An open sandbox of the language.
            programs: What to run: the original, or code in its place. At least one.
            states: For each program its input states, in order.
            coverage: Whether lines and features of each run are wanted.
            state_timeout_s: Processor seconds of one state's process. On the clock a state may take
                ``PATIENCE`` times as many, or ``IDLE_S`` without any use of the processor.
        """
        ...

    def renamed(self, function: SourceFunction) -> str | None:
        """The original with its local names changed, from signature to end; None where it has none.

        Parameters keep their names where callers could tell (the toolkit knows its language).
        """
        ...

    def stand_ins(
        self, function: SourceFunction, scaffold: Scaffold, expected: Sequence[OutputState]
    ) -> tuple[StandIn, ...]:
        """Stubs that no harness may take for the original, each of which should compile.

        Return nothing (or the zero value), each constant of the body, the commonest output (where it can be
        written down), raise or panic, echo an argument of the right type.
        """
        ...

    def mutants(self, function: SourceFunction, *, limit: int) -> tuple[StandIn, ...]:
        """Small mutants of the original (constants, comparisons, branches, operators) that may compile."""
        ...


def toolkit_for(language: Language) -> Toolkit:
    """The toolkit of a language.

    Raises:
        UsageError: It has none.
    """
    kind = load("toolkit", language)
    toolkit: Toolkit = kind()
    return toolkit
