"""Reads off the compiler's diagnostics what types are taken for each other, and makes made-up ones fit."""

from __future__ import annotations

import re

from tree_sitter import Node

from pytest_funcmem.harness.compiled.c.complaints import Complaint, types_in
from pytest_funcmem.harness.compiled.c.macro_making import MacroMaking
from pytest_funcmem.harness.compiled.c.owners import type_of
from pytest_funcmem.harness.compiled.c.places import source
from pytest_funcmem.harness.compiled.c.standins import PROBE, shape_of

__all__ = ["Converting"]

_NUMBERS = frozenset(["int", "long", "short", "unsigned", "signed", "void", "size_t", "double", "float"])


class Converting(MacroMaking):
    """Gives what is made up the types that it is converted to and from."""

    def conversion(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Assignments, initialisations, returns and arguments whose two types do not fit."""
        wanted, given = types_in(complaint)
        if wanted is None or given is None:
            return False
        argument = re.search(r"argument (\d+) of '(\w+)'", complaint.message)
        if argument is not None and argument[2] in self.standins.functions:
            return self._argument(argument[2], int(argument[1]), given, complaint) or self._any_arguments(
                argument[2], complaint
            )
        if self._unified(wanted, given) or (
            "initializ" in complaint.message and self._listed(complaint, given)
        ):
            return True
        found = self._node(complaint, whole=True)
        if found is None:
            return False
        node, text = found
        if "assign" in complaint.message:
            pointed = self._node(complaint)
            node = pointed[0] if pointed is not None else node
            for _ in range(4):
                if node.type in ("assignment_expression", "init_declarator") or node.parent is None:
                    break
                node = node.parent
            left = node.child_by_field_name("left") or node.child_by_field_name("declarator")
            right = node.child_by_field_name("right") or node.child_by_field_name("value")
            return self.retype(right, text, shape_of(wanted)) or self.retype(left, text, shape_of(given))
        if "initializ" in complaint.message:
            node = _initialiser(node)
        return self.retype(node, text, shape_of(wanted))

    def _unified(self, wanted: str, given: str) -> bool:
        """Of two structs, or pointers to them, that are taken for each other, a guessed one is the other."""
        stars = [text.count("*") for text in (wanted, given)]
        if stars[0] != stars[1] or "(" in wanted + given or "void" in wanted + given:
            return False
        words = [re.sub(r"\b(?:const|volatile)\b|\*", "", text).strip() for text in (wanted, given)]
        if not stars[0] and not all(self._tag_of(word) for word in words):
            return False
        for word, other in (words, reversed(words)):
            tag = word.removeprefix("struct ")
            if tag.startswith("fm_of_") and tag in self.standins.structs and word != other:
                return self._once("same", word, other) and self.standins.unify(tag, other)
        return False

    def _listed(self, complaint: Complaint, given: str) -> bool:
        """A made-up struct of which no member is known gets its values by their order."""
        found = self._node(complaint)
        value = None if found is None else _initialiser(found[0])
        listed = None if value is None else value.parent
        declared = None if listed is None or listed.parent is None else listed.parent.parent
        kind = None if declared is None else declared.child_by_field_name("type")
        if found is None or listed is None or kind is None or listed.type != "initializer_list":
            return False
        tag = self._tag_of(source(kind, found[1]))
        if tag is None or any(not name.startswith("fm_") for name in self.standins.structs[tag]):
            return False
        members = self.standins.structs[tag]
        for place, item in enumerate(child for child in listed.named_children if child.type != "comment"):
            members.setdefault(f"fm_{place}", "long @")
            if item == value and self._once("listed", tag, str(place)):
                members[f"fm_{place}"] = shape_of(given)
                return True
        return False

    def _argument(self, name: str, number: int, given: str, complaint: Complaint) -> bool:
        """What the compiler tells of an argument of a stand-in."""
        function = self.standins.functions[name]
        if number > len(function.parameters):
            return False
        if PROBE not in "\n".join((complaint.message, *complaint.notes)):
            found = self._node(complaint, whole=True)
            wanted, _given = types_in(complaint)
            # Which struct it is became known after the compiler had told of a pointer to a number.
            leads_to_more = wanted == "int *" and "*" in given and self._tag_of(given) is not None
            if leads_to_more and self._once("parameter", name, str(number), given):
                function.parameters[number - 1] = shape_of(given)
                return True
            if found is not None and wanted and self.retype(*found, shape_of(wanted)):
                return True
            points = "*" in given and "*" not in (function.parameters[number - 1] or "*")
            if points and self._once("parameter", name, str(number), given):
                function.parameters[number - 1] = shape_of(given)
                return True
            return False
        if function.parameters[number - 1] is None:
            function.parameters[number - 1] = shape_of(given)
            return True
        return False

    def _any_arguments(self, name: str, complaint: Complaint) -> bool:
        """What is called with values of several structs is a macro in truth: its parameters have no types."""
        probed = PROBE in "\n".join((complaint.message, *complaint.notes))
        if (
            not probed
            and "incompatible type for argument" in complaint.message
            and self._once("old style", name)
        ):
            self.standins.functions[name].old_style = True
            return True
        return False

    def no_scalar(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A struct stands where a number has to."""
        for name in re.findall(r"'(\w+)'", complaint.message):
            if self.standins.types.get(name) == "struct" and not self.standins.structs.get(f"fm_{name}"):
                return self._retype_type(name, "int @")
        found = self._node(complaint)
        node: Node | None = found[0] if found is not None else None
        for _ in range(4):
            if node is None or found is None:
                return False
            if node.type not in ("identifier", "field_identifier") and self.retype(node, found[1], "int @"):
                return True
            if node.type == "identifier" and self.retype(node, found[1], "int @"):
                return True
            node = node.parent
        return False

    def cast(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A number is taken for a pointer."""
        found = self._node(complaint)
        node = found[0] if found is not None else None
        while node is not None and node.type != "cast_expression":
            node = node.parent
        kind = node.child_by_field_name("type") if node is not None else None
        if node is None or found is None or kind is None:
            return False
        written = source(kind, found[1])
        shape = f"{written}@" if re.fullmatch(r"(?:struct )?\w+\s*\*+", written) else "void *@"
        return self.retype(node.child_by_field_name("value"), found[1], shape)

    def comparison(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A pointer is compared with a number."""
        found = self._node(complaint)
        node = found[0] if found is not None else None
        while node is not None and node.type != "binary_expression":
            node = node.parent
        if node is None or found is None:
            return False
        parts = [node.child_by_field_name(name) for name in ("left", "right")]
        for part, other in zip(parts, reversed(parts), strict=True):
            # What is compared points to what the other one points to, where the text tells that.
            word = type_of(other, found[1], self.standins, self._files)
            shape = f"{word} *@" if word is not None and word not in _NUMBERS else "char *@"
            if self.retype(part, found[1], shape):
                return True
        return False


def _initialiser(node: Node) -> Node:
    """The whole value that a declaration gives: the compiler points at its first word only."""
    while node.parent is not None and node.parent.type not in (
        "init_declarator",
        "initializer_list",
        "initializer_pair",
        "declaration",
    ):
        node = node.parent
    if node.type == "init_declarator":
        return node.child_by_field_name("value") or node
    return node
