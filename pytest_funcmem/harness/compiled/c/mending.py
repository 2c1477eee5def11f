"""Reads off the compiler's diagnostics what is missing, and makes it up: a rule for each kind of message."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tree_sitter import Node

from pytest_funcmem.harness.compiled.c.chunks import KEYWORDS
from pytest_funcmem.harness.compiled.c.complaints import Complaint
from pytest_funcmem.harness.compiled.c.converting import Converting
from pytest_funcmem.harness.compiled.c.library import KNOWN_TYPES
from pytest_funcmem.harness.compiled.c.places import argument_count, source
from pytest_funcmem.harness.compiled.c.standins import FunctionStandIn

__all__ = ["Mender"]

_MOST_ALIKE = 12
"""Structs that are made up because of one member; more of them only take turns."""

_NO_MEMBER = re.compile(r"'([^']+)'(?: \{aka '([^']+)'\})? has no member named '(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w{0,200}")


class Mender(Converting):
    """Changes stand-ins by complaints."""

    def mend(self, complaint: Complaint, files: Mapping[str, str], *, guessing: bool = True) -> bool:
        """Make up what a complaint is about.

        Args:
            complaint: What the compiler said.
            files: The parts of the text by name.
            guessing: Whether something may be made up of which little is known so far: types that other
                complaints tell are better.

        Returns:
            Whether anything was changed.
        """
        if self._files is not files:
            self._files = files
            self._fresh_headers.clear()
            self._fresh_owners.clear()
            self._all = "\n".join(files[name] for name in sorted(files) if name not in ("top.c", "late.c"))
        if complaint.file == "top.c":
            lacking = _NO_MEMBER.search(complaint.message)  # within a macro that is made up
            self._arguments = []
            return self.no_member(complaint, lacking) if lacking is not None else self._own_type(complaint)
        if complaint.file == "late.c":
            return self._own_declaration(complaint)
        self._arguments = self._macro_arguments(complaint)
        for pattern, rule in _RULES:
            match = pattern.search(complaint.message)
            if match is None or (rule in _GUESSES and not guessing):
                continue
            if rule(self, complaint, match):
                return True
        return False

    def _own_type(self, complaint: Complaint) -> bool:
        """A made-up type names one of the file's, which is not known there yet."""
        words = set(re.findall(r"'(?:struct |union )?(\w+)'", complaint.message))
        changed = False
        constant = re.match(r"enum \{ (\w+) = ", self._line(complaint))
        if constant is not None and constant[1] in self.standins.constants:
            del self.standins.constants[constant[1]]  # a header that came in later has a macro of that name
            return True
        for tag, members in self.standins.structs.items():
            if not re.search(rf"\b(?:struct|union) {re.escape(tag)} \{{", self._line(complaint)):
                continue
            for member, shape in members.items():
                if words & set(re.findall(r"\w+", shape)):
                    members[member] = "void *@" if "*" in shape else "int @"
                    changed = self._once("own", tag, member) or changed
        for name in words & self.standins.macros.keys():
            del self.standins.macros[name]
            changed = True
        for name in words & self.standins.constants.keys():
            del self.standins.constants[name]
            changed = True
        if not changed:
            match = re.match(r"typedef .*?(\w+)(?:\)\(.*\))?;", self._line(complaint))
            if match is not None and match[1] in self.standins.types and self._once("type", match[1], "int"):
                self.standins.add_type(match[1], "int @")
                return True
        return changed

    def _own_declaration(self, complaint: Complaint) -> bool:
        """A made-up declaration is wrong: it names what is unknown there, or what exists."""
        line = self._line(complaint)
        for name, function in self.standins.functions.items():
            if re.search(rf"\b{re.escape(name)}\(", line):
                if not function.old_style and self._once("old style", name):
                    function.old_style = True
                    return True
                if self._once("result", name, "int @"):
                    function.result = "int @"
                    return True
                if self._once("forget", name):
                    del self.standins.functions[name]
                    return True
        for name in self.standins.variables:
            if re.search(rf"\b{re.escape(name)}\b", line):
                if self._once("variable", name, "int @"):
                    self.standins.variables[name] = "int @"
                    return True
                if self._once("forget", name):
                    del self.standins.variables[name]
                    return True
        return False

    def unknown_type(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A word that stands where a type has to."""
        name = match[1]
        rest = self._line(complaint)[complaint.last :]
        if self._header_of(name):
            return True
        if re.match(r"\s*\(", rest) and name not in KNOWN_TYPES:
            return self._wrapping_macro(name, rest)
        if (
            re.match(
                r"\s+(?:static|extern|const|unsigned|signed|struct|union|enum|int|char|void|long|short|inline"
                r"|\w+\s+\**\s*\w+\s*(?:[(;=,\[)]|[A-Z_]{2,}\b|$))",
                rest,
            )
            and name not in KNOWN_TYPES
        ):
            return self._empty_macro(name, rest)
        if not self._once("new type", name):
            return False
        self.standins.add_type(name, self._guessed_type(name))
        return True

    def _guessed_type(self, name: str) -> str:
        if re.search(rf"\bstruct\s+{name}\s*\{{", self._files.get("decl.c", "")):
            return f"struct {name} @"  # only the typedef stands in a header
        if name in KNOWN_TYPES:
            return KNOWN_TYPES[name]
        variables = re.findall(rf"\b{re.escape(name)}\s*\**\s*(\w+)\s*[;,=)\[]", self._all)
        if any(
            re.search(rf"\b{re.escape(item)}\s*(?:\[[^\]]*\])?\s*(?:\.|->)\s*[A-Za-z_]", self._all)
            for item in variables
        ):
            pointer = re.search(rf"\b{re.escape(name)}\s*\*", self._all)
            arrow = any(re.search(rf"\b{re.escape(item)}\s*->", self._all) for item in variables)
            return f"struct {self.standins.fresh_struct(name)} *@" if arrow and not pointer else "struct"
        return "struct" if re.search(rf"\b{re.escape(name)}\s*\*", self._all) else "int @"

    def undeclared(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A name that nothing declares: a type, a constant or a variable."""
        name = match[1]
        made = self.standins
        if not _NAME.fullmatch(name) or name in KEYWORDS:
            return False
        if self._header_of(name):
            return True
        if self._known_macro(name):
            return True
        word = re.escape(name)
        is_type = re.search(
            rf"\(\s*(?:const\s+)?{word}\s*\*+\s*\)|(?:[=(,&|!+<>?:*/-]|\breturn)\s*\(\s*{word}\s*\)\s*[\w(]|\bsizeof\s*\(\s*{word}\s*\)"
            rf"|^[^\S\n]*(?:static\s+|const\s+)*{word}\s+\**\w+\s*[;=,\[]",
            self._all,
            re.MULTILINE,
        )
        if is_type and not re.search(rf"\b{word}\s*(?:->|\.|\[|=[^=])", self._all):
            if self._once("new type", name):
                made.add_type(name, self._guessed_type(name))
                return True
            return False
        if not self._once("new name", name):
            return False
        if (
            name.upper() == name
            or re.search(rf"\bcase\s+{word}\s*:", self._all)
            or re.match(r"k?[A-Z]+_?[A-Z]", name)
        ):
            bits = rf"(?<![&|])[&|]=?\s*~?\(?\s*{word}\b|\b{word}\s*(?:\|(?!\|)|&(?!&))"
            made.add_constant(name, is_flag=re.search(bits, self._all) is not None)
        else:
            made.variables[name] = "int @"
        return True

    def implicit_function(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A function that nothing declares."""
        name = match[1]
        if self._header_of(name):
            return True
        if self._known_macro(name):
            return True
        if not self._once("function", name):
            return False
        found = self._node(complaint)
        count = argument_count(found[0], found[1], name) if found is not None else None
        function = FunctionStandIn(count=count or 0, old_style=count is None)
        function.parameters = [None] * function.count
        self.standins.functions[name] = function
        return True

    def no_member(self, _complaint: Complaint, match: re.Match[str]) -> bool:
        """A made-up struct lacks a member."""
        member = self._given(match[3])
        for written in (match[1], match[2]):
            tag = self._tag_of(written) if written else None
            if tag is not None and self._once("new member", tag, member):
                self.standins.structs[tag][member] = "int @"
                return True
        return False

    def no_structure(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something with a member is no struct yet."""
        inner, text = self._field_owner(complaint)
        if inner is None:
            return False
        for name, shape in list(self.standins.types.items()):
            # A variable of a made-up type that was taken for a number.
            variable = rf"\b{name}\s*\**\s*\b{re.escape(source(inner, text))}\b"
            if "struct" not in shape and re.search(variable, self._all):
                return self._retype_type(name, "struct")
        return self._as_struct(inner, text, match[1], "@")

    def no_pointer_to_structure(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something with a member behind an arrow is no pointer to a struct yet."""
        inner, text = self._field_owner(complaint)
        field = (
            inner.parent.child_by_field_name("field")
            if inner is not None and inner.parent is not None
            else None
        )
        if inner is None or field is None:
            return False
        return self._as_struct(inner, text, self._given(source(field, text)), "*@")

    def _as_struct(self, node: Node, text: bytes, member: str, mark: str) -> bool:
        """Make an expression's type a struct of its own, or a pointer to one, that has a member."""
        written = "" if self._arguments else source(node, text)
        if written in self._fresh_owners:
            self.standins.structs[self._fresh_owners[written]].setdefault(member, "int @")
            return True
        for tag, members in self.standins.structs.items():
            if member in members and tag.startswith("fm_of_"):
                if self.retype(node, text, f"struct {tag} {mark}"):
                    return True
                break
        if f"fm_of_{member}{'_' * _MOST_ALIKE}" in self.standins.structs:
            return False
        tag = self.standins.fresh_struct(member)
        if self.retype(node, text, f"struct {tag} {mark}"):
            if written:
                self._fresh_owners[written] = tag
            return True
        del self.standins.structs[tag]
        return False

    def _field_owner(self, complaint: Complaint) -> tuple[Node | None, bytes]:
        found = self._node(complaint)
        if found is None:
            return None, b""
        node: Node | None = found[0]
        for _ in range(4):
            if node is None or node.type == "field_expression":
                break
            node = node.parent
        return (None if node is None else node.child_by_field_name("argument")), found[1]

    def undefined_struct(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A struct that is only named."""
        found = re.findall(r"\b(struct|union|enum) (\w+)", complaint.message) or re.findall(
            r"\b(struct|union|enum)\s+(\w+)", self._line(complaint)
        )
        if not found:
            found = self._behind_typedef(complaint)
        changed = False
        for word, tag in found:
            if self._header_of(tag):
                changed = True
            elif self._once("new struct", tag):
                if word == "enum":
                    self.standins.enums[tag] = None
                else:
                    self.standins.add_struct(tag, is_union=word == "union")
                changed = True
        return changed

    def _behind_typedef(self, complaint: Complaint) -> list[tuple[str, str]]:
        """The struct that a typedef of the file names, where that is what is incomplete."""
        named = re.search(r"typedef '(\w+)'", complaint.message)
        variable = re.search(r"storage size of '(\w+)'", complaint.message)
        if named is None and variable is not None:
            named = re.search(rf"(\w+)\s+(?:[\w\s,*\[\]]*,\s*)?{variable[1]}\b", self._line(complaint))
        if named is None:
            return []
        return re.findall(rf"\btypedef\s+(struct|union)\s+(\w+)\s+{named[1]}\s*;", self._all)

    def no_pointer(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something that is no pointer is followed or indexed."""
        found = self._node(complaint, whole=True) or self._node(complaint)
        if found is None:
            return False
        node, text = found
        for _ in range(3):
            if node.type in ("pointer_expression", "subscript_expression"):
                return self.retype(node.child_by_field_name("argument"), text, "int *@")
            if node.parent is None:
                return False
            node = node.parent
        return False

    def no_list(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A member that was taken for a list is assigned to: it is a pointer."""
        found = self._node(complaint)
        node = found[0] if found is not None else None
        while node is not None and node.type != "assignment_expression":
            node = node.parent
        left = None if node is None else node.child_by_field_name("left")
        field = None if left is None or left.type != "field_expression" else left.child_by_field_name("field")
        if found is None or field is None:
            return False
        member, changed = self._given(source(field, found[1])), False
        for members in self.standins.structs.values():
            if re.search(r"@\[\d+\]$", members.get(member, "")):
                members[member] = re.sub(r" ?@\[\d+\]$", " *@", members[member])
                changed = True
        return changed

    def no_function(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something that is no function is called."""
        found = self._node(complaint)
        node = found[0] if found is not None else None
        for _ in range(4):
            if node is None or found is None:
                return False
            if node.type == "call_expression":
                return self.retype(node.child_by_field_name("function"), found[1], "int (*@)()")
            node = node.parent
        return False

    def no_constant(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A variable stands where a constant has to."""
        changed = False
        for name in re.findall(r"[A-Za-z_]\w*", self._line(complaint)):
            if name in self.standins.variables and self._once("constant", name):
                del self.standins.variables[name]
                self.standins.add_constant(name)
                changed = True
        return changed

    def wrong_count(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A made-up function is called with another number of arguments."""
        function = self.standins.functions.get(match[2])
        if function is None or function.old_style:
            return False
        found = self._node(complaint)
        count = argument_count(found[0], found[1], match[2]) if found is not None else None
        if match[1] == "many" and not function.variadic:
            function.variadic = True
        elif match[1] == "few" and count is not None and count < function.count:
            function.count, function.variadic = count, True
        elif self._once("old style", match[2]):
            function.old_style = True
        else:
            return False
        if function.count == 0:
            function.old_style = True
        return True

    def no_lvalue(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A constant is assigned to."""
        changed = False
        for name in re.findall(r"[A-Za-z_]\w*", self._line(complaint)):
            if name in self.standins.constants and self._once("variable", name, "int @"):
                del self.standins.constants[name]
                self.standins.variables[name] = "int @"
                changed = True
        return changed

    def no_initialiser(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A struct begins as a name says: that is a macro."""
        for name in re.findall(r"=\s*([A-Za-z_]\w*)\s*[;,]", self._line(complaint)):
            made_up = name in self.standins.constants or name in self.standins.variables
            if made_up and self._once("macro", name):
                self.standins.constants.pop(name, None)
                self.standins.variables.pop(name, None)
                self.standins.macros[name] = " {0}"
                return True
        return False

    def void_value(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something that answers nothing is asked for its value."""
        found = self._node(complaint, whole=True)
        node = found[0] if found is not None else None
        while node is not None and not node.is_named:
            node = node.parent  # the compiler points at an operator
        return found is not None and self.retype(node, found[1], "int @")

    def conflict(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something made up exists after all."""
        if match[1] in self.standins.enums and self._once("forget", match[1]):
            del self.standins.enums[match[1]]
            return True
        for table in (
            self.standins.functions,
            self.standins.variables,
            self.standins.constants,
            self.standins.types,
            self.standins.structs,
            self.standins.macros,
        ):
            if match[1] in table and self._once("forget", match[1]):
                table.pop(match[1])
                return True
        return False


_GUESSES: frozenset[Callable[[Mender, Complaint, re.Match[str]], bool]] = frozenset(
    {
        Mender.no_structure,
        Mender.no_pointer_to_structure,
        Mender.no_pointer,
        Mender.no_scalar,
        Mender.comparison,
    }
)
_Rule = Callable[[Mender, Complaint, "re.Match[str]"], bool]
_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"unknown type name '(\w+)'", Mender.unknown_type),
        (r"'(\w+)' undeclared", Mender.undeclared),
        (r"implicit declaration of function '(\w+)'", Mender.implicit_function),
        (_NO_MEMBER.pattern, Mender.no_member),
        (r"request for member '(\w+)' in something not a structure", Mender.no_structure),
        (r"invalid type argument of '->'", Mender.no_pointer_to_structure),
        (r"undefined type|incomplete|isn't known|declared inside parameter list", Mender.undefined_struct),
        (r"invalid type argument of unary '\*'|subscripted value is neither", Mender.no_pointer),
        (r"is not a function or function pointer|called object", Mender.no_function),
        (r"too (many|few) arguments to function '(\w+)'", Mender.wrong_count),
        (r"makes (?:pointer|integer) from|incompatible (?:types? |pointer)", Mender.conversion),
        (r"cast to pointer from integer", Mender.cast),
        (r"comparison between pointer and integer|comparison of distinct pointer", Mender.comparison),
        (
            r"where scalar is required|where arithmetic|invalid operands|wrong type argument|not an integer"
            r"|aggregate value|conversion to non-scalar|integer was expected|switch quantity|cannot convert",
            Mender.no_scalar,
        ),
        (
            r"does not reduce to an integer constant|is not constant|not an integer constant|variably mod",
            Mender.no_constant,
        ),
        (r"lvalue required", Mender.no_lvalue),
        (r"assignment to expression with array type", Mender.no_list),
        (r"invalid initializer", Mender.no_initialiser),
        (r"void value not ignored|invalid use of void expression", Mender.void_value),
        (
            r"(?:conflicting types for|redefinition of|redeclaration of(?: enumerator)?) "
            r"'(?:struct |union |enum )?(\w+)'",
            Mender.conflict,
        ),
        (r"'(\w+)' redeclared as different kind of symbol", Mender.conflict),
        (r"'(\w+)' defined as wrong kind of tag", Mender.conflict),
        (r"expected expression before '(\w+)'", Mender.type_argument),
        (r"expected ", Mender.strange_word),
    )
)
