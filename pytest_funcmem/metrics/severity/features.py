"""The free rating: what stands in a function's syntax tree.

Constants, branches, arithmetic and words of a domain are what a function says that its signature does not.
Each counts up to a limit that it nears the more slowly the more of it there is; weights and limits are a
judgement, fitted to no labels. How well it agrees with a judge is for the user to measure, on the user's own
functions.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from pytest_funcmem.core.records import Language, Severity, SourceFunction
from pytest_funcmem.metrics.flat_tree import FlatTree, flatten, grammar_signature
from pytest_funcmem.metrics.flow_rules import RULES

__all__ = ["Features", "LocalRater", "features_of", "severity_of"]

VERSION = 1

# Points at most, and the number that earns half of them.
_LITERALS, _BRANCHES, _ARITHMETIC, _WORDS = (3.0, 6.0), (2.5, 4.0), (2.5, 4.0), (2.0, 10.0)

# fmt: off
_BRANCH_KINDS = frozenset({
    "if_statement", "elif_clause", "conditional_expression", "ternary_expression", "if_expression",
    "match_expression", "match_statement", "case_clause", "match_arm", "switch_expression",
    "switch_statement", "switch_block_statement_group", "switch_rule", "case_statement", "expression_case",
    "type_case", "expression_switch_statement", "type_switch_statement", "for_statement", "for_expression",
    "enhanced_for_statement", "while_statement", "while_expression", "do_statement", "loop_expression",
    "except_clause", "catch_clause", "raise_statement", "throw_statement", "if_clause"
})
_OPERATION_KINDS = frozenset({
    "binary_operator", "binary_expression", "augmented_assignment", "compound_assignment_expr",
    "assignment_expression", "assignment_statement", "update_expression", "inc_statement", "dec_statement"
})
_OPERATORS = frozenset({
    "+", "-", "*", "/", "%", "**", "//", "<<", ">>", ">>>", "&", "|", "^", "&^", "+=", "-=", "*=", "/=",
    "%=", "**=", "//=", "<<=", ">>=", ">>>=", "&=", "|=", "^=", "&^=", "++", "--"
})
# fmt: on
_IDENTIFIERS = frozenset({"identifier", "field_identifier", "property_identifier", "type_identifier"})
_TRIVIAL = frozenset({"0", "1", "2", "-1", "0.0", "1.0", "", "true", "false", "null", "nil", "none"})
_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
# fmt: off
_COMMON = frozenset({
    "self", "this", "args", "kwargs", "data", "value", "values", "item", "items", "list", "dict", "name",
    "names", "index", "result", "results", "return", "string", "text", "line", "lines", "file", "files",
    "path", "paths", "node", "nodes", "type", "types", "func", "function", "method", "class", "object",
    "input", "output", "print", "error", "errors", "message", "size", "length", "count", "number",
    "numbers", "start", "stop", "begin", "range", "left", "right", "first", "last", "next", "prev", "temp",
    "temporary", "key", "keys", "array", "vector", "buffer", "default", "config", "options", "option",
    "param", "params", "parameter", "argument", "arguments", "append", "extend", "insert", "remove",
    "update", "find", "search", "sort", "join", "split", "strip", "replace", "format", "lower", "upper",
    "encode", "decode", "open", "close", "read", "write", "load", "save", "dump", "parse", "test", "tests",
    "check", "true", "false", "none", "null", "main", "init", "make", "create", "build", "copy", "clone",
    "merge", "call", "callback", "handler", "handle", "event", "events", "request", "response", "context",
    "state", "status", "logger", "debug", "info", "warning", "raise", "isinstance", "hasattr", "getattr",
    "setattr", "enumerate", "filter", "reduce", "lambda", "yield", "async", "await", "static", "public",
    "private", "final", "void", "char", "bool", "float", "double", "byte", "long", "short", "unsigned",
    "signed", "const", "struct", "enum", "impl", "trait", "unwrap", "expect", "some", "into", "iter",
    "collect", "push", "fmt", "println", "printf", "sprintf", "malloc", "free", "sizeof", "memcpy", "strlen"
})
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Counts over one function.

    Attributes:
        literals: Different constants other than the trivial ones; docstrings and comments do not count.
        branches: Conditions, cases, loops, handlers.
        arithmetic: Arithmetic and bitwise operations.
        words: Different words in names and short strings that are not of every program's vocabulary.
    """

    literals: int
    branches: int
    arithmetic: int
    words: int


def features_of(language: Language, code: str) -> Features:
    """Count over a function's text.

    Args:
        language: Its language.
        code: Signature and body.
    """
    tree = flatten(language, code)
    constants = RULES[language].constants
    literals: set[str] = set()
    words: set[str] = set()
    kinds: Counter[str] = Counter()
    arithmetic = 0
    dropped_to = 0
    for node, kind in enumerate(tree.kinds):
        if node < dropped_to:
            continue
        if "comment" in kind or _is_docstring(tree, node):
            dropped_to = tree.afters[node]
            continue
        kinds[kind] += tree.named[node]
        if kind in constants:
            text = tree.text(node).strip("\"'`").strip().lower()
            if text not in _TRIVIAL:
                literals.add(text)
                words.update(_words(text[:80]))
        elif kind in _IDENTIFIERS:
            words.update(_words(tree.text(node)))
        elif kind in _OPERATION_KINDS:
            arithmetic += any(tree.kinds[child] in _OPERATORS for child in tree.children[node])
    return Features(
        literals=len(literals),
        branches=sum(kinds[kind] for kind in _BRANCH_KINDS),
        arithmetic=arithmetic,
        words=len(words),
    )


def severity_of(features: Features) -> int:
    """From 1 to 10."""
    points = sum(
        most * count / (count + half)
        for count, (most, half) in (
            (features.literals, _LITERALS),
            (features.branches, _BRANCHES),
            (features.arithmetic, _ARITHMETIC),
            (features.words, _WORDS),
        )
    )
    return min(10, 1 + round(points))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON


def _is_docstring(tree: FlatTree, node: int) -> bool:
    children = tree.children[node]
    return (
        tree.kinds[node] == "expression_statement"
        and len(children) == 1
        and tree.kinds[children[0]] in ("string", "concatenated_string")
    )


class LocalRater:
    """Rates by the syntax tree alone; see ``raters.Rater``."""

    spec = "local"

    def rate(self, functions: tuple[SourceFunction, ...]) -> tuple[Severity, ...]:
        """Rate functions, in order."""
        return tuple(self._one(function) for function in functions)

    def close(self) -> None:
        """Nothing is held."""

    def _one(self, function: SourceFunction) -> Severity:
        found = features_of(function.language, function.code)
        return Severity(
            value=severity_of(found),
            signature=f"local|severity|version:{VERSION}|{grammar_signature(function.language)}",
            note=f"{found.literals} constants, {found.branches} branches, {found.arithmetic} operations,"
            f" {found.words} words",
        )
