"""Syntax trees whose places are counted in characters.

tree-sitter reads UTF-8 and counts bytes, everything else here counts characters. This module knows nothing of
any one language.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property

import tree_sitter
from tree_sitter import Node

from pytest_funcmem.core.records import Language

__all__ = ["LineIndex", "SyntaxTree", "inner_nodes", "normalised"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
_STRIDE = 4096


@cache
def _grammar(language: Language) -> tree_sitter.Language:
    return tree_sitter.Language(importlib.import_module(f"tree_sitter_{language}").language())


def normalised(text: str) -> str:
    """The text with every kind of newline as a line feed, and no byte-order mark."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff")


class SyntaxTree:
    """A parsed text.

    Args:
        language: Grammar to parse it with.
        text: Any string, lone surrogates included.
    """

    def __init__(self, language: Language, text: str) -> None:
        self.text = text
        try:
            self._bytes = text.encode("utf-8")
        except UnicodeEncodeError:
            # U+FFFD takes as many bytes as a surrogate would, and is as little a part of any token.
            self._bytes = _LONE_SURROGATE.sub("\ufffd", text).encode("utf-8")
        # A parser keeps state between calls, and scans may run in several threads; making one is cheap.
        self._tree = tree_sitter.Parser(_grammar(language)).parse(self._bytes)

    @property
    def root(self) -> Node:
        """The node of the whole text."""
        return self._tree.root_node

    @cached_property
    def _checkpoints(self) -> tuple[int, ...]:
        counts = [0]
        for start in range(0, len(self._bytes), _STRIDE):
            counts.append(counts[-1] + self._characters(start, start + _STRIDE))
        return tuple(counts)

    def _characters(self, start: int, stop: int) -> int:
        return len(self._bytes[start:stop].translate(None, _CONTINUATION_BYTES))

    @cached_property
    def _is_ascii(self) -> bool:
        return len(self._bytes) == len(self.text)

    def offset(self, byte: int) -> int:
        """Characters of the text that begin before a byte of it."""
        if self._is_ascii:
            return byte
        block = byte // _STRIDE
        return self._checkpoints[block] + self._characters(block * _STRIDE, byte)

    def byte(self, offset: int) -> int:
        """Bytes of the text before a character of it."""
        if self._is_ascii:
            return offset
        block = bisect_right(self._checkpoints, offset) - 1
        start = block * _STRIDE
        missing = offset - self._checkpoints[block]
        piece = self._bytes[start : start + _STRIDE + 4]
        for place, value in enumerate(piece):
            if value & 0xC0 != 0x80:
                if missing == 0:
                    return start + place
                missing -= 1
        return len(self._bytes)

    def start(self, node: Node) -> int:
        """Where a node begins, in characters."""
        return self.offset(node.start_byte)

    def end(self, node: Node) -> int:
        """Where a node ends, in characters."""
        return self.offset(node.end_byte)

    def source(self, node: Node) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def is_quoted(self, offset: int) -> bool:
        """Whether a character stands in a string, character literal or comment."""
        byte = self.byte(offset)
        node = self.root.descendant_for_byte_range(byte, byte + 1)
        while node is not None:
            if any(word in node.type for word in ("string", "comment", "char_literal", "rune_literal")):
                return True
            node = node.parent
        return False


class LineIndex:
    """Line numbers of a text, counted from 1; only a line feed ends a line."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """Number of the line that holds a character."""
        return bisect_right(self._starts, offset)

    def start(self, offset: int) -> int:
        """Where the line that holds a character begins."""
        return self._starts[self.line(offset) - 1]


def inner_nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, in order, without recursion: hostile text nests deeper than Python's stack."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))
