"""Lines of a function that can be executed, and probes that tell which are."""

from __future__ import annotations

import re

from tree_sitter import Node

from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["executable_lines", "with_probes"]

_STATEMENTS = frozenset({"expression_statement", "let_declaration"})
_NOT_STATEMENTS = frozenset({"{", "}", "label", "inner_attribute_item", "attribute_item", "empty_statement"})


def executable_lines(code: str) -> tuple[int, ...]:
    """Lines on which statements begin, relative to the signature's line, which is left out."""
    return tuple(sorted({line for _, line, _ in _places(SyntaxTree("rust", code)) if line > 0}))


def with_probes(code: str) -> str:
    """The function with a probe before every statement; lines stay where they are."""
    tree = SyntaxTree("rust", code)
    inserts: list[tuple[int, str]] = []
    for node, line, is_arm in _places(tree):
        start = tree.start(node)
        if is_arm:
            inserts.append((start, f"{{ funcmem::hit({line}); "))
            inserts.append((tree.end(node), " }"))
        else:
            inserts.append((_before_attributes(tree, node), f"funcmem::hit({line}); "))
    for place, text in sorted(inserts, key=lambda pair: pair[0], reverse=True):
        code = code[:place] + text + code[place:]
    return re.sub(r"\bconst\s+(?=(?:unsafe\s+)?(?:extern\s+\"[^\"]*\"\s+)?fn\b)", "", code, count=1)


def _before_attributes(tree: SyntaxTree, node: Node) -> int:
    before = node.prev_sibling
    first = node
    while before is not None and before.type == "attribute_item":
        first = before
        before = before.prev_sibling
    return tree.start(first)


def _places(tree: SyntaxTree) -> list[tuple[Node, int, bool]]:
    """Statements and bare match arms of the outermost function, with their lines."""
    top = next((node for node in inner_nodes(tree.root) if node.type == "function_item"), None)
    body = top.child_by_field_name("body") if top is not None else None
    found: list[tuple[Node, int, bool]] = []
    stack = [body] if body is not None else []
    while stack:
        node = stack.pop()
        if (
            node.type in ("function_item", "impl_item", "macro_invocation", "const_block")
            and node is not body
        ):
            continue
        if node.type in (
            "const_item",
            "static_item",
            "struct_item",
            "enum_item",
            "trait_item",
            "macro_definition",
        ):
            continue
        if node.type == "block" and not _is_constant(node):
            for child in node.children:
                if child.type in _NOT_STATEMENTS or "comment" in child.type:
                    continue
                is_item = (
                    child.type.endswith(("_item", "_declaration", "_definition"))
                    and child.type != "let_declaration"
                )
                if not is_item:
                    found.append((child, child.start_point[0], False))
        elif node.type == "match_arm":
            value = node.child_by_field_name("value")
            if value is not None and value.type != "block":
                found.append((value, value.start_point[0], True))
        stack.extend(node.children)
    return found


def _is_constant(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "const_block"
