"""What the compiler made of a program: types, functions and variables, checked, and written as C again.

The description comes out of the sandbox, where only the original was compiled. It is checked all the same:
numbers are bounded, names that go into generated code are identifiers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

__all__ = ["CFunction", "CType", "CVariable", "Description", "UnspeakableTypeError", "read_description"]

_MOST = 20_000
_NAME = re.compile(r"[A-Za-z_]\w{0,200}")
_BASE_NAME = re.compile(r"[A-Za-z_][\w ]{0,60}")
_KINDS = frozenset(
    [
        "void",
        "base",
        "pointer",
        "struct",
        "union",
        "enum",
        "typedef",
        "const",
        "volatile",
        "restrict",
        "atomic",
        "array",
        "function",
        "opaque",
    ]
)
_TRANSPARENT = frozenset({"typedef", "const", "volatile", "restrict", "atomic"})


class UnspeakableTypeError(Exception):
    """A type has no name by which generated code could call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CType:
    """One type.

    Attributes:
        kind: As in debugging information: ``base``, ``pointer``, ``struct``, ``typedef``, …
        name: Tag, typedef or base name; "" if none.
        size: In bytes; -1 for a struct that is only declared, and for a variadic function.
        target: Number of the type it is made from: pointee, element, result, or what a typedef means.
        parts: By kind: (name, type, offset, first bit, bits) of members, (name, value) of enumerators,
            lengths of an array, types of parameters, or the encoding of a base type.
    """

    kind: str
    name: str
    size: int
    target: int
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CFunction:
    """A function that was defined or declared."""

    name: str
    result: int
    parameters: tuple[tuple[str, int], ...]
    variadic: bool
    defined: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CVariable:
    """A variable outside of functions."""

    name: str
    type: int
    defined: bool


@dataclass(frozen=True)
class Description:
    """All that is known of a compiled program."""

    types: tuple[CType, ...]
    functions: tuple[CFunction, ...]
    variables: tuple[CVariable, ...]

    @cached_property
    def function_names(self) -> dict[str, CFunction]:
        """Functions by name; one that is defined goes before one that is declared."""
        found = {item.name: item for item in self.functions if not item.defined}
        found.update({item.name: item for item in self.functions if item.defined})
        return found

    @cached_property
    def variable_names(self) -> dict[str, CVariable]:
        """Variables by name; one that is defined goes before one that is declared."""
        found = {item.name: item for item in self.variables if not item.defined}
        found.update({item.name: item for item in self.variables if item.defined})
        return found

    def plain(self, number: int) -> int:
        """The type without typedefs and qualifiers."""
        for _ in range(len(self.types)):
            if self.types[number].kind not in _TRANSPARENT:
                break
            number = self.types[number].target
        return number

    def is_constant(self, number: int) -> bool:
        """Whether a value of the type cannot be changed."""
        for _ in range(len(self.types)):
            kind = self.types[number].kind
            if kind == "const":
                return True
            if kind not in _TRANSPARENT and kind != "array":
                return False
            number = self.types[number].target
        return False

    def points_to_anything(self, number: int) -> bool:
        """Whether a type is that of a pointer to void."""
        kind = self.types[self.plain(number)]
        return kind.kind == "pointer" and self.types[self.plain(kind.target)].kind == "void"

    def unqualified(self, number: int) -> int:
        """The type without qualifiers on the outside; typedefs that hide one are looked through."""
        for _ in range(len(self.types)):
            kind = self.types[number].kind
            if kind in ("const", "volatile", "restrict", "atomic"):
                number = self.types[number].target
            elif kind == "typedef" and self.types[self._below(number)].kind in ("const", "volatile"):
                number = self._below(number)
            else:
                break
        return number

    def _below(self, number: int) -> int:
        while self.types[number].kind == "typedef":
            number = self.types[number].target
        return number

    def declared(self, number: int, inner: str = "", depth: int = 0) -> str:
        """C text that declares ``inner`` to be of a type.

        Raises:
            UnspeakableTypeError: The type, or one in it, has no name.
        """
        kind = self.types[number]
        if depth > 40:
            raise UnspeakableTypeError("it is nested too deep")
        match kind.kind:
            case "void":
                return f"void {inner}".rstrip()
            case "base" | "typedef":
                if kind.name == "__va_list_tag":
                    raise UnspeakableTypeError("a list of arguments")
                return f"{kind.name} {inner}".rstrip()
            case "struct" | "union" | "enum":
                if not kind.name or kind.name == "__va_list_tag":
                    raise UnspeakableTypeError(f"a {kind.kind} without a name")
                return f"{kind.kind} {kind.name} {inner}".rstrip()
            case "const" | "volatile" | "restrict" | "atomic":
                word = {"restrict": "__restrict", "atomic": "_Atomic"}.get(kind.kind, kind.kind)
                below = kind.target
                while self.types[below].kind in ("const", "volatile", "restrict"):
                    below = self.types[below].target
                if self.types[below].kind == "pointer":
                    return self.declared(kind.target, f"{word} {inner}".rstrip(), depth + 1)
                return f"{word} {self.declared(kind.target, inner, depth + 1)}"
            case "pointer":
                below = kind.target
                while self.types[below].kind in ("const", "volatile", "restrict"):
                    below = self.types[below].target
                if self.types[below].kind in ("array", "function"):
                    return self.declared(kind.target, f"(*{inner})", depth + 1)
                return self.declared(kind.target, f"*{inner}", depth + 1)
            case "array":
                lengths = "".join(f"[{length or ''}]" for length in kind.parts) or "[]"
                return self.declared(kind.target, inner + lengths, depth + 1)
            case "function":
                parameters = [self.declared(part, "", depth + 1) for part in kind.parts]
                if kind.size == -1 and parameters:
                    parameters.append("...")
                text = ", ".join(parameters) or ("" if kind.size == -1 else "void")
                return self.declared(kind.target, f"{inner}({text})", depth + 1)
        raise UnspeakableTypeError(f"a type of kind {kind.kind}")


def read_description(value: object) -> Description | None:
    """Check what came out of the sandbox; None where anything in it is not as it should be."""
    if not isinstance(value, dict):
        return None
    types, functions, variables = (value.get(name) for name in ("types", "functions", "variables"))
    if not isinstance(types, list) or not isinstance(functions, list) or not isinstance(variables, list):
        return None
    if max(map(len, (types, functions, variables))) > _MOST or not types:
        return None
    try:
        reader = _Reader(len(types))
        return Description(
            types=tuple(reader.type(item) for item in types),
            functions=tuple(reader.function(item) for item in functions),
            variables=tuple(reader.variable(item) for item in variables),
        )
    except (ValueError, TypeError, KeyError):
        return None


class _Reader:
    def __init__(self, count: int) -> None:
        self._count = count

    def type(self, item: Any) -> CType:
        kind, name, size, target, parts = item
        if kind not in _KINDS or type(size) is not int or not -1 <= size < 1 << 40:
            raise ValueError(kind)
        if name and not (_BASE_NAME if kind == "base" else _NAME).fullmatch(name):
            raise ValueError(name)
        if not isinstance(parts, list) or len(parts) > _MOST:
            raise ValueError(kind)
        return CType(
            kind=kind,
            name=name,
            size=size,
            target=self._number(target),
            parts=tuple(self._part(kind, part) for part in parts),
        )

    def _part(self, kind: str, part: Any) -> Any:
        if kind in ("struct", "union"):
            name, number, offset, bit, bits = part
            if name and not _NAME.fullmatch(name):
                raise ValueError(name)
            sizes = (self._size(offset), self._size(bit), self._size(bits))
            return (name, self._number(number), *sizes)
        if kind == "enum":
            name, number = part
            if type(number) is not int or abs(number) > 1 << 63 or not _NAME.fullmatch(name):
                raise ValueError(name)
            return (name, number)
        if kind == "function":
            return self._number(part)
        return self._size(part)

    def function(self, item: Any) -> CFunction:
        parameters = tuple(
            (self._name(name, empty=True), self._number(kind)) for name, kind in item["parameters"]
        )
        if len(parameters) > 100:
            raise ValueError(item["name"])
        return CFunction(
            name=self._name(item["name"]),
            result=self._number(item["result"]),
            parameters=parameters,
            variadic=item["variadic"] is True,
            defined=item["defined"] is True,
        )

    def variable(self, item: Any) -> CVariable:
        return CVariable(
            name=self._name(item["name"]), type=self._number(item["type"]), defined=item["defined"] is True
        )

    def _name(self, name: Any, *, empty: bool = False) -> str:
        if not isinstance(name, str) or not (_NAME.fullmatch(name) or (empty and not name)):
            raise ValueError(name)
        return name

    def _number(self, number: Any) -> int:
        if type(number) is not int or not 0 <= number < self._count:
            raise ValueError(number)
        return number

    def _size(self, size: Any) -> int:
        if type(size) is not int or not 0 <= size < 1 << 40:
            raise ValueError(size)
        return size
