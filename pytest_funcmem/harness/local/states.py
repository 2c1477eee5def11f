"""Plans the input states of a function: which parts there are, and a strategy that gives whole states.

It knows shapes and expressions; it runs nothing.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.local.analysis import Analysis, Parameter, dotted_name
from pytest_funcmem.harness.local.construction import class_path, owner_shape
from pytest_funcmem.harness.local.evidence import Evidence
from pytest_funcmem.harness.local.literals import LiteralPool
from pytest_funcmem.harness.local.shapes import Shape, shape_of
from pytest_funcmem.harness.local.strategies import Expressions
from pytest_funcmem.harness.local.uses import read_uses

__all__ = ["ReceiverMode", "StatePlan", "Style"]

ReceiverMode = Literal["none", "class", "made", "stand_in", "fabricated"]
"""How the receiver comes to be: there is none; the class itself; its constructor; an instance made without
its constructor, whose missing attributes are made up; an object that is all made up."""

Style = Literal["typed", "mixed", "fabricated"]
"""How arguments come to be: by their shapes; the same, with vague ones made up; all made up."""

_RANDOM_SOURCES = re.compile(r"\b(random|uuid|secrets|time|datetime|urandom)\b")
_FILE_USES = re.compile(
    r"\b(open|is_?file|is_?dir|exists|listdir|iterdir|r?glob|read_text|read_bytes|scandir|walk|stat|getsize)\("
)
_VARIABLES = re.compile(r"(?:environ\.get\(|environ\[|getenv\()\s*['\"](\w+)['\"]")
_STDIN_LINES = ("5", "3", "hello", "1 2 3", "yes", "no", "0", "Ann", "q", "10 20", "-1", "a b", "y", "n", "2")
_MADE_UP: dict[Style, int] = {"typed": 0, "mixed": 4, "fabricated": 10}
_MAX_SIZE = 5
_MAX_SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePlan:
    """The parts of the input states of one function.

    Attributes:
        shapes: Shape of each parameter, receiver excluded, in order.
        receivers: Ways to make the receiver, best first.
        attributes: Attributes of the receiver that the function reads, with shapes.
        extents: Symbols of sizes that several parts share.
        reads_stdin: Whether the function reads standard input.
        variables: Environment variables that the file reads.
        reads_files: Whether the function, as far as its text tells, looks at files that may be there.
        reads_arguments: Whether the function reads the arguments of the program.
        related: Whether values of one part have to turn up in another for all to be seen.
        draws: Whether the file has sources of randomness, so that the seed of a state counts.
    """

    analysis: Analysis
    pool: LiteralPool
    shapes: tuple[tuple[Parameter, Shape], ...]
    receivers: tuple[ReceiverMode, ...]
    attributes: tuple[tuple[str, Shape], ...]
    extents: tuple[str, ...]
    reads_stdin: bool
    draws: bool
    related: bool
    variables: tuple[str, ...]
    reads_files: bool
    reads_arguments: bool

    @classmethod
    def of(cls, analysis: Analysis, pool: LiteralPool) -> StatePlan:
        """Plan the states of a function from its text."""
        uses = read_uses(analysis)
        shapes = tuple(
            (parameter, _parameter_shape(analysis, parameter, uses.parameters[parameter.name]))
            for parameter in analysis.parameters
        )
        names = {parameter.name for parameter in analysis.parameters}
        extents = dict.fromkeys(symbol for _, shape in shapes for symbol in _extents(shape))
        attributes = tuple(
            (name, shape_of(analysis, name, None, None, found))
            for name, found in uses.receiver.fields.items()
            if name.isidentifier() and not name.startswith("__") and not _is_member(analysis, name)
        )
        kinds: dict[str, tuple[ReceiverMode, ...]] = {
            "method": ("made", "stand_in", "fabricated"),
            "property": ("made", "stand_in", "fabricated"),
            "classmethod": ("class", "fabricated"),
        }
        return cls(
            analysis=analysis,
            pool=pool,
            shapes=shapes,
            receivers=kinds.get(analysis.kind, ("none",)),
            attributes=attributes,
            extents=tuple(symbol for symbol in extents if symbol in names or symbol.startswith("len(")),
            reads_stdin=any(
                isinstance(item, ast.Call)
                and dotted_name(item.func) in ("input", "sys.stdin.read", "sys.stdin.readline")
                for item in ast.walk(analysis.node)
            ),
            related=uses.related,
            reads_files=_FILE_USES.search(analysis.source.code) is not None,
            reads_arguments="parse_args" in analysis.source.code or "sys.argv" in analysis.source.code,
            variables=tuple(dict.fromkeys(_VARIABLES.findall(analysis.source.text)))[:8],
            draws=_RANDOM_SOURCES.search(analysis.source.text) is not None,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing but the seed could differ between states."""
        plain = not self.shapes and self.receivers == ("none",)
        return plain and not self.reads_stdin and not self.reads_arguments

    def strategy(self, mode: ReceiverMode, style: Style = "typed") -> SearchStrategy[InputState]:
        """Strategy of whole states, with the receiver and the arguments made in one way."""
        return _states(self, mode, style)


def _parameter_shape(analysis: Analysis, parameter: Parameter, evidence: Evidence) -> Shape:
    if parameter.kind == "var_positional":
        inner = evidence.element or Evidence()
        return shape_of(analysis, parameter.name.rstrip("s"), parameter.hint, None, inner)
    if parameter.kind == "var_keyword":
        fields = tuple(
            (text, shape_of(analysis, text.strip("'\""), parameter.hint, None, found))
            for text, found in evidence.keys.items()
            if text.strip("'\"").isidentifier()
        )
        return Shape(kind="dict", items=(Shape(kind="str"), Shape(kind="any")), fields=fields)
    return shape_of(analysis, parameter.name, parameter.hint, parameter.default, evidence)


def _extents(shape: Shape) -> list[str]:
    found = [shape.extent] if shape.extent is not None and shape.kind in ("list", "tuple") else []
    for inner in (*shape.items, *(item for _, item in shape.fields)):
        found.extend(_extents(inner))
    return found


def _is_member(analysis: Analysis, name: str) -> bool:
    """Whether a name is a method or a property of the class, so that it needs no value."""
    owner = analysis.owner
    return owner is not None and any(
        isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and item.name == name
        for item in owner.body
    )


def _states(plan: StatePlan, mode: ReceiverMode, style: Style) -> SearchStrategy[InputState]:
    expressions = Expressions(plan.analysis, plan.pool, made_up=_MADE_UP[style])
    made = expressions.of(owner_shape(plan.analysis), {}) if mode == "made" else None

    @st.composite
    def state(draw: DrawFn) -> InputState:
        sizes = {symbol: draw(st.integers(1, _MAX_SIZE)) for symbol in plan.extents}
        receiver = None
        if mode == "class":
            receiver = class_path(plan.analysis)
        elif made is not None:
            receiver = draw(made)
        elif mode == "fabricated":
            receiver = "fabricated('self')"
        elif mode == "stand_in":
            given = []
            for name, shape in plan.attributes:
                # What is left out is made up once it is asked for.
                if style == "typed" or (style == "mixed" and draw(st.booleans())):
                    given.append(f"{name}={draw(expressions.of(shape, sizes, 1))}")
            receiver = f"stand_in({', '.join([class_path(plan.analysis), *given])})"
        arguments, keywords = _arguments(plan, expressions, sizes, draw, style)
        stdin = ""
        if plan.reads_stdin:
            known = [ast.literal_eval(text) for text in plan.pool.strings]
            lines = draw(st.lists(st.sampled_from((*_STDIN_LINES, *known)), min_size=1, max_size=8))
            stdin = "".join(f"{line}\n" for line in lines)
        setup: tuple[str, ...] = ()
        if plan.reads_arguments:
            options = [text for text in plan.pool.strings if text.strip("'")[:1] == "-"]
            words = st.sampled_from((*options, *options, "'data.txt'", "'3'", "'word'", "'other.csv'"))
            setup = (f"__import__('sys').argv[1:] = [{', '.join(draw(st.lists(words, max_size=4)))}]",)
        return InputState(
            setup=setup,
            receiver=receiver,
            arguments=tuple(arguments),
            keywords=tuple(keywords),
            seed=draw(st.integers(0, _MAX_SEED)) if plan.draws or plan.is_empty or style != "typed" else 0,
            stdin=stdin,
        )

    return state()


def _arguments(
    plan: StatePlan, expressions: Expressions, sizes: dict[str, int], draw: DrawFn, style: Style
) -> tuple[list[str], list[tuple[str, str]]]:
    positional_only = {item.arg for item in plan.analysis.node.args.posonlyargs}
    extra: list[str] = []
    for parameter, shape in plan.shapes:
        if parameter.kind == "var_positional":
            extra = draw(st.lists(expressions.of(shape, sizes, 1), max_size=6))
    arguments: list[str] = []
    keywords: list[tuple[str, str]] = []
    omitted = False
    for parameter, shape in plan.shapes:
        if parameter.kind == "var_positional":
            arguments.extend(extra)
            continue
        if parameter.kind == "var_keyword":
            keywords.extend(_extra_keywords(expressions, shape, sizes, draw))
            continue
        if style == "fabricated":
            text = f"fabricated({parameter.name!r})"
        elif parameter.name in sizes and shape.kind in ("int", "any"):
            text = str(sizes[parameter.name])
        else:
            text = draw(expressions.of(shape, sizes))
        optional = parameter.default is not None
        if parameter.kind == "positional" and (not optional or extra or parameter.name in positional_only):
            if optional and not extra and (omitted or draw(st.integers(0, 3)) == 0):
                omitted = True
                continue
            arguments.append(text)
        elif not optional or parameter.name in sizes or draw(st.integers(0, 3)) > 0:
            keywords.append((parameter.name, text))
    return arguments, keywords


def _extra_keywords(
    expressions: Expressions, shape: Shape, sizes: dict[str, int], draw: DrawFn
) -> list[tuple[str, str]]:
    fields: list[tuple[str, Any]] = [(text.strip("'\""), inner) for text, inner in shape.fields]
    fields = fields or [("alpha", Shape(kind="int")), ("beta", Shape(kind="str"))]
    return [(name, draw(expressions.of(inner, sizes, 1))) for name, inner in fields if draw(st.booleans())]
