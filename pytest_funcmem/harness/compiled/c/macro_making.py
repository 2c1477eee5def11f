"""Reads off the compiler's diagnostics which words are macros, and makes those up."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.c.chunks import KEYWORDS
from pytest_funcmem.harness.compiled.c.complaints import Complaint
from pytest_funcmem.harness.compiled.c.library import HEADERS
from pytest_funcmem.harness.compiled.c.places import call_arguments, call_around
from pytest_funcmem.harness.compiled.c.retyping import Retyping
from pytest_funcmem.harness.compiled.c.standins import type_macro

__all__ = ["MacroMaking"]


class MacroMaking(Retyping):
    """Makes up macros for words that are no C until they are known."""

    def _empty_macro(self, name: str, rest: str) -> bool:
        if not self._once("macro", name):
            return False
        self.standins.types.pop(name, None)
        self.standins.macros[name] = "(...)" if rest.lstrip().startswith("(") else ""
        return True

    def _wrapping_macro(self, name: str, rest: str) -> bool:
        """A macro around a type, a parameter or parameters; else an annotation."""
        if not self._once("macro", name):
            return False
        self.standins.types.pop(name, None)
        inner = call_arguments(rest.lstrip())
        declares = re.search(
            r"\*|\b(?:int|char|void|long|short|unsigned|struct|const|bool|float|double)\b|\w\s+\w", inner[0]
        )
        self.standins.macros[name] = "(...) __VA_ARGS__" if declares or inner[0].startswith("(") else "(...)"
        return True

    def type_argument(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """A type stands among arguments: what is called is a macro."""
        call = call_around(self._files.get(complaint.file, ""), complaint.line, complaint.column)
        if call is None or call[0] in KEYWORDS or call[0] in self.standins.macros:
            return False
        name, arguments, number = call
        body = type_macro(name, arguments, number)
        if body is None or re.search(rf"#\s*define\s+{name}\b", self._files.get("decl.c", "")):
            return False
        if not self._once("macro", name):
            return False
        self.standins.functions.pop(name, None)
        self.standins.macros[name] = body
        self.standins.headers.setdefault("stdlib.h")
        self.standins.headers.setdefault("stddef.h")
        return True

    def strange_word(self, complaint: Complaint, match: re.Match[str]) -> bool:
        """Something that is no C until a macro is known: annotations, formats between texts."""
        line = self._line(complaint)
        lines = self._files.get(complaint.file, "").split("\n")
        before = lines[complaint.line - 2] if complaint.line > 1 else ""
        known = self._files.get("decl.c", "")
        around = [(before, len(before)), (line, complaint.column)]
        for text, column in reversed(around):
            part = text[max(0, column - 80) : column + 80]
            for found in re.finditer(r"\b([A-Z_][A-Z0-9_]+|__\w+|P)\b\s*(\(?)", part):
                name = found[1]
                if name in HEADERS and self._once("header", HEADERS[name]):
                    self.standins.headers[HEADERS[name]] = None
                    return True
                if (
                    re.search(rf"#\s*define\s+{name}\b", known)
                    or name in HEADERS
                    or name in self.standins.constants
                ):
                    continue
                if name in KEYWORDS or name in self.standins.types or name in self.standins.functions:
                    continue
                if found[2]:
                    if self._wrapping_macro(name, part[found.end() - 1 :]):
                        return True
                elif self._once("macro", name):
                    quoted = re.search(rf'"\s*{name}\b|\b{name}\s*"', text)
                    self.standins.macros[name] = ' ""' if quoted else ""
                    return True
        return False
