"""The C front end.

Macros are not expanded, so real files are full of what a grammar calls errors. A definition is taken when
its own brackets pair up, whatever the tree says of its inside; where a conditional tears a definition
apart, the file is read once more with directives and all but the first branches blanked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from pytest_funcmem.core.records import Language
from pytest_funcmem.languages.braces import BracedFrontend, Lexicon, is_balanced
from pytest_funcmem.languages.findings import Finding
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["CFrontend"]

_NOT_A_NAME = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "goto", "defined"}
)


class CFrontend(BracedFrontend):
    """Finds C functions, K&R and GNU ones too, and reads completions of them."""

    language: Language = "c"
    suffixes = (".c",)
    lexicon = Lexicon(
        literals=r'"(?:[^"\\\n]|\\[\s\S])*+(?:"|(?=\n)|\\?\Z)|' r"'(?:[^'\\\n]|\\[\s\S])*+(?:'|(?=\n)|\\?\Z)",
        has_directives=True,
    )
    type_words = frozenset({"enum", "struct", "union"})
    declares_parameters_late = True

    def _find(self, tree: SyntaxTree) -> Iterator[Finding]:
        found: dict[tuple[str, int], Finding] = {}
        trees = [tree]
        if tree.root.has_error:
            trees.append(SyntaxTree(self.language, self._without_directives(tree.text)))
        for attempt in trees:
            for finding in self._find_once(attempt):
                known = found.get((finding.qualname, finding.signature_start))
                if known is None or (known.problem == "syntax_error" and finding.problem is None):
                    found[finding.qualname, finding.signature_start] = finding
        end = 0
        for finding in sorted(found.values(), key=lambda finding: finding.signature_start):
            # The branch of a conditional that holds a second signature is part of the function it tears.
            if finding.signature_start >= end:
                yield finding
                end = finding.end

    def _find_once(self, tree: SyntaxTree) -> Iterator[Finding]:
        stack = [tree.root]
        while stack:
            node = stack.pop()
            if node.type != "function_definition":
                stack.extend(child for child in node.children if child.type != "compound_statement")
                continue
            name = _name(tree, node)
            if name is None or name in _NOT_A_NAME:
                continue
            start = tree.start(node)
            yield self._finding(tree, node, qualname=name, definition_start=start, signature_start=start)

    def _is_sound(self, tree: SyntaxTree, node: Node, prompt_end: int, end: int) -> bool:
        if not node.has_error:
            return True
        return is_balanced(self.lexicon.tokens(tree.text[tree.start(node) : end]))

    def _without_directives(self, text: str) -> str:
        """The text with directives, and branches that are not the first, as blanks: places stay the same."""
        pieces = []
        done = 0
        for token in self.lexicon.tokens(text):
            if token.kind == "comment" and token.text.lstrip().startswith("#"):
                pieces += [text[done : token.start], re.sub(r"[^\n]", " ", token.text)]
                done = token.end
        return "".join([*pieces, text[done:]])


def _name(tree: SyntaxTree, node: Node) -> str | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in declarator.named_children if "declarator" in child.type), None)
        declarator = inner
    return None if declarator is None else tree.source(declarator)
