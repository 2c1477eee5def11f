"""Stand-ins that do not do the original's work and must not pass for it: what a harness is tested against."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.records import Json, OutputState, SourceFunction
from pytest_funcmem.harness.local.analysis import Analysis, own_nodes, parse_quietly
from pytest_funcmem.harness.local.literals import constant_text
from pytest_funcmem.harness.local.rewriting import code_with_body
from pytest_funcmem.harness.values import UNCHANGED

__all__ = ["Stub", "make_stubs"]

_MAX_CONSTANTS = 12
_MAX_SHOWN = 24
_MAX_DECODED = 2000
_BUILTIN_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and value is not UnicodeError
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """One stand-in.

    Attributes:
        name: What it does, for people: ``nothing``, ``raise``, ``constant …``, ``echo …``, ``commonest``.
        code: Signature and body.
        gives: Encoding of the value that it always returns, as a one-item tuple; None where not known.
        ends: How it always ends; None where that hangs on its arguments or on what surrounds it.
    """

    name: str
    code: str
    gives: tuple[Json] | None = None
    ends: Literal["returned", "raised"] | None = None

    def could_match(self, output: OutputState) -> bool:
        """Whether an output state of the original may be equal to what the stub does."""
        if self.ends is not None and (output.outcome != self.ends or not _is_quiet(output)):
            return False
        if self.gives is None:
            return True
        value = self.gives[0]
        if isinstance(value, list):  # floats are compared with a tolerance, so only their tag decides
            return isinstance(output.value, list) and output.value[:1] == value[:1]
        return output.outcome == "returned" and type(output.value) is type(value) and output.value == value


def _is_quiet(output: OutputState) -> bool:
    """Whether nothing but a result or an exception came of a run."""
    return not (
        output.calls
        or output.stdout
        or output.stderr
        or output.files
        or output.module_globals
        or output.receiver not in (None, UNCHANGED)
        or any(value != UNCHANGED for value in output.arguments.values())
    )


def make_stubs(analysis: Analysis, expected: Sequence[OutputState]) -> tuple[Stub, ...]:
    """Make the stand-ins of a function.

    Args:
        analysis: The original and its file.
        expected: Output states of the original, from which the commonest result is taken.
    """
    function = analysis.source
    give = "yield" if analysis.is_generator else "return"
    bodies: dict[str, str] = {
        "nothing": "return\nyield" if analysis.is_generator else "pass",
        "raise": "raise RuntimeError('stub')" + ("\nyield" if analysis.is_generator else ""),
    }
    for text in _body_constants(analysis):
        shown = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
        bodies.setdefault(f"constant {shown}", f"{give} {text}")
    names = [parameter.name for parameter in analysis.parameters]
    for name in ([analysis.receiver] if analysis.receiver is not None else []) + names:
        bodies[f"echo {name}"] = f"{give} {name}"
    commonest = _commonest(analysis, expected)
    if commonest is not None:
        bodies["commonest"] = commonest
    stubs: dict[str, Stub] = {}
    for name, body in bodies.items():
        code = _code(function, body)
        gives = None
        if not analysis.is_generator and name.startswith("constant "):
            gives = _encoding(body.removeprefix("return "))
        ends: Literal["returned", "raised"] | None = None
        if _is_bare(analysis) and not name.startswith("echo "):
            ends = "raised" if body.startswith("raise ") else "returned"
        stubs.setdefault(code, Stub(name=name, code=code, gives=gives, ends=ends))
    return tuple(stubs.values())


def _is_bare(analysis: Analysis) -> bool:
    """Whether a call reaches the body without code of anyone else before or after it."""
    known = {"staticmethod", "classmethod", "property"}
    return analysis.kind != "nested" and all(
        isinstance(item, ast.Name) and item.id in known for item in analysis.node.decorator_list
    )


def _code(function: SourceFunction, body: str) -> str:
    # ``return`` and ``yield`` parse at module level; only compiling would refuse them there.
    return code_with_body(function, parse_quietly(body).body)


def _body_constants(analysis: Analysis) -> list[str]:
    texts: dict[str, None] = {}
    for item in own_nodes(analysis.node):
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            continue
        if isinstance(item, ast.List | ast.Dict | ast.Tuple | ast.Set):
            texts.setdefault({"List": "[]", "Dict": "{}", "Tuple": "()", "Set": "set()"}[type(item).__name__])
        elif isinstance(item, ast.expr) and (text := constant_text(item)) is not None and text != "None":
            texts.setdefault(text)
    docstring = ast.get_docstring(analysis.node, clean=False)
    texts.pop(repr(docstring), None)
    # Constants that are returned as they stand are the best guesses, so they come first.
    returned = [
        text
        for item in own_nodes(analysis.node)
        if isinstance(item, ast.Return)
        and item.value is not None
        and (text := constant_text(item.value)) is not None
    ]
    ordered = dict.fromkeys([text for text in returned if text != "None"])
    for text in ("True", "False", "0", "''", *texts):
        if text in texts or text in ("True", "False"):
            ordered.setdefault(text)
    return list(ordered)[:_MAX_CONSTANTS]


def _commonest(analysis: Analysis, expected: Sequence[OutputState]) -> str | None:
    """Body that gives the commonest result, where Python can write it down."""
    give = "yield from" if analysis.is_generator else "return"
    counts: Counter[str] = Counter()
    for output in expected:
        if output.outcome == "returned":
            text = expression_of(output.value)
            if text is not None:
                counts[f"{give} {text}"] += 1
        elif output.outcome == "raised" and output.exception is not None:
            short = str(output.exception["type"]).rsplit(".", 1)[-1]
            if short in _BUILTIN_EXCEPTIONS or short in analysis.definitions:
                tail = "\nyield" if analysis.is_generator else ""
                counts[f"raise {short}({str(output.exception['message'])!r}){tail}"] += 1
    if not counts:
        return None
    top = max(counts.values())
    return next(body for body, count in counts.items() if count == top)


def expression_of(value: Json) -> str | None:
    """Source that gives an encoded value; None where it cannot be written plainly."""
    text = _expression(value, 0)
    return text if text is not None and len(text) <= _MAX_DECODED else None


def _expression(value: Json, depth: int) -> str | None:
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if depth > 8 or not isinstance(value, list) or not value:
        return None
    match value:
        case ["int", str(digits)]:
            return f"int({digits!r}, 16)"
        case ["float", str(text)]:
            return f"float({text!r})"
        case ["bytes", str(text)]:
            return repr(text.encode("latin-1", "replace"))
        case [("list" | "tuple" | "set" | "frozenset") as tag, list(items)]:
            parts = [_expression(item, depth + 1) for item in items]
            if any(part is None for part in parts):
                return None
            return f"{tag}([{', '.join(part for part in parts if part is not None)}])"
        case ["dict", list(pairs)]:
            found = [(_expression(key, depth + 1), _expression(item, depth + 1)) for key, item in pairs]
            if any(key is None or item is None for key, item in found):
                return None
            return "{" + ", ".join(f"{key}: {item}" for key, item in found) + "}"
        case ["iterator", _, list(items), _]:
            return _expression(["list", items], depth + 1)
        case _:
            return None


def _encoding(text: str) -> tuple[Json] | None:
    """Encoding of the value of a constant's source; None for displays."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    if value is None or isinstance(value, bool | str) or (isinstance(value, int) and abs(value) <= 2**53):
        return (value,)
    if isinstance(value, float):
        return (["float", repr(value)],)
    return (["bytes", value.decode("latin-1")],) if isinstance(value, bytes) else None
