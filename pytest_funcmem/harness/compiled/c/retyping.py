"""Gives an expression another type by changing the made-up thing that its type comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tree_sitter import Node

from pytest_funcmem.harness.compiled.c.complaints import Complaint
from pytest_funcmem.harness.compiled.c.library import CONSTANTS, HEADERS
from pytest_funcmem.harness.compiled.c.owners import type_of
from pytest_funcmem.harness.compiled.c.places import call_arguments, expression, expression_at, source
from pytest_funcmem.harness.compiled.c.standins import PROBE, StandIns

__all__ = ["Retyping"]


class Retyping:
    """Finds what an expression's type comes from, and changes that where it is made up.

    A change that was made once is never made again, so that mending ends.

    Args:
        standins: What is made up so far; is changed.
    """

    def __init__(self, standins: StandIns) -> None:
        self.standins = standins
        self._made: set[tuple[str, ...]] = set()
        self._files: Mapping[str, str] = {}
        self._all = ""
        self._fresh_headers: set[str] = set()
        self._fresh_owners: dict[str, str] = {}  # by what is written: tags that it got in this round
        self._arguments: list[dict[str, str]] = []

    # ------------------------------------------------------------------------------------ what is there

    def _once(self, *change: str) -> bool:
        """Whether a change was not made before; it counts as made from now on."""
        if change in self._made:
            return False
        self._made.add(change)
        return True

    def forget(self, names: Collection[str]) -> None:
        """What these names stand for may be made up again: a declaration of theirs was left out."""
        self._made -= {change for change in self._made if len(change) > 1 and change[1] in names}

    def _macro_arguments(self, complaint: Complaint) -> list[dict[str, str]]:
        """What the parameters of the macros around a place stand for, the innermost macro first."""
        found = []
        text = self._files.get("decl.c", "")
        for name, file, line, column in complaint.expansions:
            head = re.search(
                rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\(([\w\s,.]*)\)", text, re.MULTILINE
            )
            lines = self._files.get(file, "").split("\n")
            if head is None or not 0 < line <= len(lines):
                continue
            call = "\n".join([lines[line - 1][column - 1 :], *lines[line : line + 6]])
            parameters = [item.strip() for item in head[1].split(",")]
            found.append(dict(zip(parameters, call_arguments(call), strict=False)))
        return found

    def _given(self, name: str) -> str:
        """What a name stands for at the place: the argument where it is a macro's parameter."""
        for arguments in self._arguments:
            name = arguments.get(name, name)
        return name

    def _header_of(self, name: str) -> bool:
        """Include the header that declares a name; False where there is none or it was there already."""
        header = HEADERS.get(name)
        if header is None:
            return False
        if self._once("header", header):
            self.standins.headers[header] = None
            self._fresh_headers.add(header)
        return header in self._fresh_headers

    def _known_macro(self, name: str) -> bool:
        """Define a macro that files take for granted."""
        if name not in CONSTANTS or not self._once("macro", name):
            return False
        self.standins.macros[name] = CONSTANTS[name]
        return True

    def _line(self, complaint: Complaint) -> str:
        lines = self._files.get(complaint.file, "").split("\n")
        return lines[complaint.line - 1] if 0 < complaint.line <= len(lines) else ""

    def _node(self, complaint: Complaint, *, whole: bool = False) -> tuple[Node, bytes] | None:
        """What the compiler points at; with ``whole`` all of the expression that it underlines."""
        line = self._line(complaint)
        column = complaint.first if whole else complaint.column
        found = expression_at(line, column, self._files.get(complaint.file, ""), complaint.line - 1)
        if found is None or not whole:
            return found
        node, text = found
        width = complaint.last - complaint.first + 1
        while node.end_byte - node.start_byte < width and node.parent is not None:
            if node.parent.start_byte != node.start_byte:
                break
            node = node.parent
        return node, text

    # ------------------------------------------------------------------------------------------ changes

    def retype(self, node: Node | None, text: bytes, shape: str) -> bool:
        """Give what an expression's type comes from another one; False where that is not made up."""
        if node is None or PROBE in shape or not shape.strip():
            return False
        shape = self.standins.current(shape)
        match node.type:
            case "identifier":
                name = source(node, text)
                for depth, arguments in enumerate(self._arguments):
                    if name in arguments:
                        return self._within(self._arguments[depth + 1 :], expression(arguments[name]), shape)
                return self._retype_name(name, shape)
            case "field_expression":
                field = node.child_by_field_name("field")
                if field is None:
                    return False
                owner = self._owner(node.child_by_field_name("argument"), text)
                if self._is_within_local(node, text):
                    shape = _as_list(shape)
                return self._retype_member(self._given(source(field, text)), shape, owner)
            case "call_expression":
                called = node.child_by_field_name("function")
                if called is None:
                    return False
                name = self._given(source(called, text))
                macro = self._macro(name)
                if macro is not None:
                    listed = node.child_by_field_name("arguments")
                    values = call_arguments(source(listed, text)) if listed is not None else []
                    bound = dict(zip(macro[0], values, strict=False))
                    return self._within([bound, *self._arguments], expression(macro[1]), shape)
                if called.type == "identifier" and name in self.standins.functions:
                    if self._once("result", name, shape):
                        self.standins.functions[name].result = shape
                        return True
                    return False
                return self.retype(called, text, shape.replace("@", "(*@)()"))
            case "subscript_expression" | "pointer_expression":
                inner = node.child_by_field_name("argument")
                if node.type == "pointer_expression" and node.children[0].type == "&":
                    return "*@" in shape and self.retype(inner, text, shape.replace("*@", "@", 1))
                return self.retype(inner, text, shape.replace("@", "*@"))
            case "parenthesized_expression":
                return self.retype(node.named_children[0] if node.named_children else None, text, shape)
            case "conditional_expression":
                parts = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
            case "assignment_expression" | "binary_expression":
                parts = [node.child_by_field_name(name) for name in ("left", "right")]
                if node.type == "binary_expression" and "*@" in shape:
                    parts = parts[:1]  # what is added to a pointer is a number
            case "comma_expression":
                parts = [node.child_by_field_name("right")]
            case "unary_expression" | "update_expression":
                parts = [node.child_by_field_name("argument")]
            case _:
                return False
        return any(self.retype(part, text, shape) for part in parts)

    def _is_within_local(self, node: Node, text: bytes) -> bool:
        """Whether a member is that of a local variable, which holds what nobody has set."""
        base = node.child_by_field_name("argument")
        if (
            base is None
            or base.type != "identifier"
            or source(node, text)[base.end_byte - node.start_byte] != "."
        ):
            return False
        name = re.escape(source(base, text))
        return re.search(rf"^[ \t]+(?:struct\s+)?\w+\s+{name}\s*;", self._all, re.MULTILINE) is not None

    def _within(self, arguments: list[dict[str, str]], found: tuple[Node, bytes] | None, shape: str) -> bool:
        """Retype an expression that stands where macros' parameters mean something else."""
        if found is None or len(arguments) > 8:
            return False
        was, self._arguments = self._arguments, arguments
        try:
            return self.retype(*found, shape)
        finally:
            self._arguments = was

    def _macro(self, name: str) -> tuple[list[str], str] | None:
        """Parameters and body of a macro of the file that is called like a function."""
        text = self._files.get("decl.c", "")
        head = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}\(([\w\s,]*)\)", text, re.MULTILINE)
        if head is None:
            return None
        body = re.match(r"(?:\\\n|[^\n])*", text[head.end() :])
        return [item.strip() for item in head[1].split(",")], "" if body is None else body[0].replace(
            "\\\n", " "
        )

    def _owner(self, node: Node | None, text: bytes) -> str | None:
        """Tag of the made-up struct that an expression is, or points to."""
        for depth, arguments in enumerate(self._arguments):
            inner = node
            while inner is not None and inner.type == "parenthesized_expression" and inner.named_children:
                inner = inner.named_children[0]
            if inner is not None and inner.type == "identifier" and source(inner, text) in arguments:
                found = expression(arguments[source(inner, text)])
                was, self._arguments = self._arguments, self._arguments[depth + 1 :]
                try:
                    return None if found is None else self._owner(*found)
                finally:
                    self._arguments = was
        word = type_of(node, text, self.standins, self._files)
        if word is None:
            return None
        return self._tag_of(word) or self.standins.owner(self.standins.types.get(word, "").replace("@", ""))

    def _tag_of(self, word: str) -> str | None:
        """Tag of the made-up struct that a type stands for, behind a typedef of the file too."""
        tag = self.standins.owner(word)
        if tag is None and re.fullmatch(r"\w+[ *]*", word):
            name = word.rstrip(" *")
            alias = re.search(
                rf"\btypedef\s+((?:struct|union)\s+\w+)\s*\**\s*{name}\s*;", self._files.get("decl.c", "")
            )
            tag = None if alias is None else self.standins.owner(alias[1])
        return tag

    def _retype_name(self, name: str, shape: str) -> bool:
        made, shape = self.standins, _writable(shape)
        if name in made.variables or name in made.constants:
            if not self._once("variable", name, shape):
                return False
            made.constants.pop(name, None)
            made.variables[name] = shape
            return True
        # A local variable or parameter: what is made up is its type.
        match = re.search(rf"\b(\w+)\s+(\**)\s*{re.escape(name)}\b\s*[;,=)\[]", self._all)
        if match is None or match[1] not in made.types:
            return False
        for _star in match[2]:
            if "*@" not in shape:
                return False
            shape = shape.replace("*@", "@", 1)
        return self._retype_type(match[1], shape)

    def _retype_type(self, name: str, shape: str) -> bool:
        if self.standins.types.get(name) == shape or not self._once("type", name, shape):
            return False
        if name in re.findall(r"\w+", shape) or self._forgets(self.standins.types[name], f"fm_{name}"):
            return False
        self.standins.add_type(name, shape)
        return True

    def _forgets(self, was: str, tag: str) -> bool:
        """Whether a struct of which members are known would become something else."""
        return was == "struct" and bool(self.standins.structs.get(tag))

    def _retype_member(self, member: str, shape: str, owner: str | None) -> bool:
        changed, shape = False, _writable(shape)
        if owner is not None and member not in self.standins.structs[owner]:
            owner = None
        for tag, members in self.standins.structs.items():
            if owner not in (None, tag):
                continue
            if member not in members or members[member] == shape or self.standins.would_hold(shape, tag):
                continue
            if self._once("member", tag, member, shape):
                members[member] = shape
                changed = True
        return changed


def _as_list(shape: str) -> str:
    """The shape of as many things as a pointer may lead to."""
    match = re.fullmatch(r"((?:unsigned |signed |const )*)(\w[\w ]*?) ?\*@", shape)
    if match is None or match[2] == "void":
        return shape
    return f"{match[1]}{match[2]} @[{256 if match[2] == 'char' else 64}]"


def _writable(shape: str) -> str:
    """The shape without ``const``: what may be written to can be handed to what only reads it too."""
    return re.sub(r"\bconst\b\s*", "", shape)
