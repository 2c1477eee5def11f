"""Stubs that no harness may take for the original: the signature with a body that does next to nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_funcmem.core.records import OutputState, SourceFunction
from pytest_funcmem.harness.compiled.c.chunks import KEYWORDS, tokens
from pytest_funcmem.harness.compiled.toolkit import StandIn
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["stub_codes"]

_MOST_CONSTANTS = 8
_MOST_ECHOES = 4


def stub_codes(function: SourceFunction, expected: Sequence[OutputState]) -> tuple[StandIn, ...]:
    """Return nothing, constants of the body, the commonest output, end badly, give an argument back."""
    head = function.signature.rstrip()
    head = head[:-1].rstrip() if head.endswith("{") else head
    body = function.body
    if not function.signature.rstrip().endswith("{"):
        # Declarations of parameters in the old style stand before the brace.
        head += body[: body.index("{")] if "{" in body else ""

    def stub(name: str, statements: str) -> StandIn:
        return StandIn(name=name, code=f"{head}\n{{\n    {statements}\n}}")

    parameters = _parameters(function)
    found = []
    if _returns_nothing(function):
        found.append(stub("nothing", "return;"))
    else:
        call = f"{function.qualname}({', '.join(parameters)})"
        found.append(stub("nothing", f"static __typeof__({call}) nothing; return nothing;"))
        for number, text in enumerate(_constants(function)):
            found.append(stub(f"constant {number}", f"return {text};"))
        common = _commonest(expected)
        if common is not None:
            found.append(stub("commonest", f"return {common};"))
        for number, name in enumerate(parameters[:_MOST_ECHOES]):
            found.append(stub(f"echo {number + 1}", f"return (__typeof__({call})){name};"))
    found.append(stub("crash", "__builtin_trap();"))
    return tuple(found)


def _returns_nothing(function: SourceFunction) -> bool:
    words = []
    for token in tokens(function.code):
        if token.text == function.qualname:
            break
        words.append(token.text)
    return "void" in words and "*" not in words


def _parameters(function: SourceFunction) -> list[str]:
    """Names of the parameters, in order."""
    tree = SyntaxTree("c", function.code)
    for node in inner_nodes(tree.root):
        if node.type != "parameter_list":
            continue
        names = []
        for child in node.named_children:
            if child.type == "identifier":  # the old style
                names.append(tree.source(child))
            elif child.type == "parameter_declaration":
                inner = child.child_by_field_name("declarator")
                while inner is not None and inner.type != "identifier":
                    inner = inner.child_by_field_name("declarator") or next(
                        (
                            part
                            for part in inner.named_children
                            if "declarator" in part.type or part.type == "identifier"
                        ),
                        None,
                    )
                if inner is not None:
                    names.append(tree.source(inner))
        return names
    return []


def _constants(function: SourceFunction) -> Iterator[str]:
    """Literals of the body, and names in capitals that it returns."""
    seen: set[str] = set()
    words = list(tokens(function.code))
    for place, token in enumerate(words):
        returned = place > 0 and words[place - 1].text == "return" and token.kind == "name"
        usable = token.kind in ("number", "text") or (
            returned and token.text not in KEYWORDS and token.text.isupper()
        )
        if usable and token.start >= len(function.signature) and token.text not in seen:
            seen.add(token.text)
            yield token.text
            if len(seen) >= _MOST_CONSTANTS:
                return


def _commonest(expected: Sequence[OutputState]) -> str | None:
    """The commonest returned number or text, as C."""
    values = Counter(
        json.dumps(output.value)
        for output in expected
        if output.outcome == "returned" and isinstance(output.value, (int, str))
    )
    if not values:
        return None
    value = json.loads(min(values.items(), key=lambda item: (-item[1], item[0]))[0])
    if isinstance(value, str):
        return '"' + re.sub(r"[^ !#-\[\]-~]", lambda match: f"\\{min(ord(match[0]), 255):03o}", value) + '"'
    return str(int(value))
