"""What a file lacks, made up piece by piece: types, members, constants, variables, functions, macros.

Knows how each is written as C, and nothing of why it is made up. A made-up type is a *shape*: C text with an
``@`` where the name goes (``char *@``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["FunctionStandIn", "StandIns", "shape_of", "type_macro"]

_MOST_FLAGS = 30
_ENUMERATORS = 8
_ROOM_NAME = re.compile(
    r"(?:BUF|LINE|PATH|STR|STRING|NAME|TEXT|MSG|MESSAGE|PACKET|BLOCK|BLK)(?:FER)?_?(?:MAX|SIZ|SIZE|SZ|LEN|LENGTH)"
    r"|(?:MAX|SIZEOF)_?(?:BUF|LINE|PATH|STR|NAME|TEXT|MSG|TOKEN|WORD)|BUFSZ"
)
_SIZE_NAME = re.compile(
    r"(?:^|_)(?:N|NUM|MAX|COUNT|CNT|SIZE|SIZ|LEN|LENGTH|LAST|END|TOTAL|LIMIT)(?:_|$)|^MAX|MAX$|SIZE$"
)

_CHECK_NAME = re.compile(r"ASSERT|CHECK|VERIFY|REQUIRE|ENSURE", re.IGNORECASE)

PROBE = "fm_probe"
"""A type that nothing else has: a parameter of it makes the compiler tell the type of each argument."""


def type_macro(name: str, arguments: Sequence[str], place: int) -> str | None:
    """Text behind the name of a macro that is given a type: it casts, finds a member's owner, or makes room.

    Args:
        name: Of the macro, which may say that it checks, or which of two it gives.
        arguments: Of one use.
        place: Which of them is the type.

    Returns:
        None for a use of another kind.
    """
    if not 0 <= place < len(arguments):
        return None
    if len(arguments) == 1:
        return "(t) ((t *)calloc(1, sizeof(t)))"
    if "RETURN" in name.upper() and place == 1 and len(arguments) in (2, 3):
        given = "a, t" if len(arguments) == 2 else "a, t, c"
        return f"({given}) do {{ if (!(a)) return{' c' if len(arguments) == 3 else ''}; }} while (0)"
    if _CHECK_NAME.search(name):
        return "(...) ((void)0)"
    others = [letter for number, letter in enumerate("abc"[: len(arguments)]) if number != place]
    head = ", ".join("t" if number == place else "abc"[number] for number in range(len(arguments)))
    if "FREE" in name.upper() and len(arguments) == 2:
        return f"({head}) free((void *)({others[0]}))"
    if "ALLOC" in name.upper() and len(arguments) in (2, 3):
        is_pointer = arguments[place].rstrip().endswith("*")
        return f"({head}) {_room(name, others, is_pointer=is_pointer)}"
    if len(arguments) == 2:
        a = others[0]
        # A pointer is cast, a number says how many.
        made = f"calloc((size_t)({a}), sizeof(t))"
        return f"({head}) ((t *)(__builtin_classify_type({a}) == 5 ? (void *)(size_t)({a}) : {made}))"
    if len(arguments) == 3 and place == 1 and re.fullmatch(r"[A-Za-z_]\w*", arguments[2]):
        return f"({head}) ((t *)((char *)({others[0]}) - offsetof(t, {others[1]})))"
    least_or_most = re.search(r"(MIN|MAX)", name.upper())
    if len(arguments) == 3 and least_or_most is not None:
        sign = "<" if least_or_most[1] == "MIN" else ">"
        return f"({head}) ((t)({others[0]}) {sign} (t)({others[1]}) ? (t)({others[0]}) : (t)({others[1]}))"
    if len(arguments) == 3:
        return f"({head}) ((t *)realloc((void *)(size_t)({others[0]}), (size_t)({others[1]}) * sizeof(t)))"
    return None


def _room(name: str, others: Sequence[str], *, is_pointer: bool) -> str:
    """What makes room for values of the type ``t``, or for what that points to."""
    cast, count = ("t", "") if is_pointer else ("t *", " * sizeof(t)")
    if len(others) == 1:
        return f"(({cast})calloc(1, (size_t)({others[0]}){count}))"
    if "REALLOC" in name.upper():
        return f"(({cast})realloc((void *)({others[0]}), (size_t)({others[1]}){count}))"
    return f"(({cast})calloc((size_t)({others[0]}), (size_t)({others[1]})))"


def shape_of(written: str) -> str:
    """The shape of a type as the compiler writes it, such as ``char *``, ``int (*)(void)`` or ``char[4]``."""
    written = re.sub(r":\d+$", "", written.strip())  # what a bit-field holds
    written = re.sub(r"\s*\brestrict\b", "", written)
    if "(*" in written:
        place = written.index("(*") + 2
        while place < len(written) and written[place] == "*":
            place += 1
        return f"{written[:place]}@{written[place:]}"
    bracket = written.find("[")
    if bracket >= 0:
        return f"{written[:bracket].rstrip()} @{written[bracket:]}"
    return f"{written}@" if written.endswith("*") else f"{written} @"


@dataclass(slots=True, kw_only=True)
class FunctionStandIn:
    """A function that nothing declares.

    Attributes:
        result: Shape of what it gives back.
        parameters: Shapes of its parameters; None where the compiler has still to tell, or cannot.
        count: How many arguments it is called with at least.
        variadic: Whether it is called with more somewhere.
        probed: Whether the compiler was asked.
        old_style: Declared without parameters, as what it is called with cannot be written down.
    """

    result: str = "int @"
    parameters: list[str | None] = field(default_factory=list)
    count: int = 0
    variadic: bool = False
    probed: bool = False
    old_style: bool = False


@dataclass(slots=True)
class StandIns:
    """All that is made up for one function."""

    types: dict[str, str] = field(default_factory=dict)  # typedef name -> shape; "struct" for an own struct
    structs: dict[str, dict[str, str]] = field(default_factory=dict)  # tag -> members
    constants: dict[str, int] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    functions: dict[str, FunctionStandIn] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    enums: dict[str, None] = field(default_factory=dict)  # tags, in order
    unions: set[str] = field(default_factory=set)  # tags of structs that are unions
    headers: dict[str, None] = field(default_factory=dict)  # in order
    gone: dict[str, str] = field(default_factory=dict)  # tags of structs that others took the place of

    def add_type(self, name: str, shape: str) -> None:
        """Make up a typedef; ``struct`` gives it a struct of its own, whose members come to be known."""
        self.types[name] = shape
        if shape == "struct":
            self.structs.setdefault(f"fm_{name}", {})

    def add_struct(self, tag: str, *, is_union: bool) -> None:
        """Make up a struct or union of which the tag is known."""
        self.structs.setdefault(tag, {})
        if is_union:
            self.unions.add(tag)

    def add_constant(self, name: str, *, is_flag: bool = False) -> None:
        """Make up a constant, different from all others: a bit, a bound of loops, room for a text, or any.

        Args:
            name: Of the constant.
            is_flag: Whether it is combined with others bit by bit.
        """
        if name in self.constants:
            return
        candidates: Iterable[int] = itertools.count(1)
        if is_flag and len(self.constants) < _MOST_FLAGS:
            candidates = (1 << bit for bit in range(_MOST_FLAGS))
        elif _ROOM_NAME.search(name):
            candidates = itertools.count(256)
        elif _SIZE_NAME.search(name):
            candidates = itertools.chain((8, 7, 6, 9, 5, 10, 11, 12), itertools.count(32))
        taken = set(self.constants.values())
        self.constants[name] = next(value for value in candidates if value not in taken)

    def fresh_struct(self, member: str) -> str:
        """Tag of a new struct, for something of which one member is all that is known."""
        tag = f"fm_of_{member}"
        while tag in self.structs:
            tag += "_"
        self.structs[tag] = {}
        return tag

    def owner(self, written: str) -> str | None:
        """Tag of the made-up struct that a type as the compiler writes it stands for."""
        word = re.sub(r"\b(const|volatile)\b", "", written).strip().rstrip("* ")
        if word.startswith(("struct ", "union ")):
            tag = word.split(None, 1)[1]
        else:
            named = re.fullmatch(r"(?:struct|union) (\w+) @", self.types.get(word, ""))
            tag = named[1] if named is not None else f"fm_{word}" if self.types.get(word) == "struct" else ""
        return tag if tag in self.structs else None

    def unify(self, tag: str, other: str) -> bool:
        """Put another type in the place of a made-up struct; if that is made up too, it gets the members.

        Args:
            tag: Of the struct that goes.
            other: A type as it is written.
        """
        kept = self.owner(other)
        if kept == tag:
            return False
        word = re.compile(rf"\bstruct {re.escape(tag)}\b")
        members = self.structs.pop(tag)
        self.gone[tag] = other
        if kept is not None:
            for name, shape in members.items():
                if self.structs[kept].get(name, "int @") == "int @":
                    self.structs[kept][name] = shape
        tables = [self.types, self.variables, *self.structs.values()]
        for table in tables:
            for name, shape in table.items():
                table[name] = word.sub(other, shape)
        for function in self.functions.values():
            function.result = word.sub(other, function.result)
            function.parameters = [shape and word.sub(other, shape) for shape in function.parameters]
        return True

    def current(self, shape: str) -> str:
        """A shape that the compiler told of earlier, with what has taken the place of its structs since."""
        for tag, other in self.gone.items():
            shape = re.sub(rf"\bstruct {re.escape(tag)}\b", other, shape)
        return shape

    def would_hold(self, shape: str, tag: str) -> bool:
        """Whether a value of a shape has a made-up struct in it, which could then not hold such a value."""
        if "*" in shape:
            return False
        inner = self.owner(shape.replace("@", "").partition("[")[0])
        if inner is None:
            return False
        return inner == tag or any(self.would_hold(part, tag) for part in self.structs[inner].values())

    def early(self) -> str:
        """What goes before everything of the file: macros, constants and types, one to a line."""
        lines = [f"struct {PROBE} {{ int x; }};"]
        lines += [f"#define {name}{text}" for name, text in sorted(self.macros.items())]
        lines += [f"enum {{ {name} = {value} }};" for name, value in self.constants.items()]
        for tag in self.enums:
            lines.append(
                f"enum {tag} {{ {', '.join(f'fm_{tag}_{value}' for value in range(_ENUMERATORS))} }};"
            )
        lines += [f"{self._word(tag)} {tag};" for tag in sorted(self.structs)]
        for name in sorted(self.types):
            if self.types[name] == "struct":
                lines.append(f"typedef struct fm_{name} {name};")
        for name in self._in_order():
            lines.append(f"typedef {self.types[name].replace('@', name)};")
        for tag in self._structs_in_order():
            members = " ".join(
                f"{shape.replace('@', member)};" for member, shape in self.structs[tag].items()
            )
            lines.append(f"{self._word(tag)} {tag} {{ {members or 'int fm_opaque[2];'} }};")
        return "\n".join([*lines, ""])

    def _word(self, tag: str) -> str:
        return "union" if tag in self.unions else "struct"

    def late(self) -> list[tuple[str, str]]:
        """What goes behind the file's declarations: names and lines, in order."""
        lines = [(name, f"{shape.replace('@', name)};") for name, shape in sorted(self.variables.items())]
        for name, function in sorted(self.functions.items()):
            lines.append((name, f"{function.result.replace('@', f'{name}({_parameters(function)})')};"))
        return lines

    def _in_order(self) -> list[str]:
        """Typedefs that are no structs of their own, those that others are made from first."""
        names = sorted(name for name, shape in self.types.items() if shape != "struct")
        return sorted(
            names, key=lambda name: sum(word in names for word in re.findall(r"\w+", self.types[name]))
        )

    def _structs_in_order(self) -> list[str]:
        """Structs that hold others come after them."""
        ordered: list[str] = []

        def visit(tag: str, above: tuple[str, ...]) -> None:
            if tag in ordered or tag in above:
                return
            for shape in self.structs[tag].values():
                if "*" not in shape:
                    inner = self.owner(shape.replace("@", "").partition("[")[0])
                    if inner is not None:
                        visit(inner, (*above, tag))
            ordered.append(tag)

        for tag in sorted(self.structs):
            visit(tag, ())
        return ordered


def _parameters(function: FunctionStandIn) -> str:
    if function.old_style:
        return ""
    if not function.count:
        return "" if function.variadic else "void"
    shapes = [
        f"struct {PROBE}" if shape is None else shape.replace("@", "").strip()
        for shape in function.parameters[: function.count]
    ]
    return ", ".join([*shapes, "..."] if function.variadic else shapes)
