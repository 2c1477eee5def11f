r"""Cuts prompts: the signature and up to P tokens of the text before it (paper, section 4).

The prompt's last token decides what a model answers. A model that saw ``:`` and the newline behind it as two
tokens, with the newline merged into the indentation, gives nothing back for a prompt ending in the newline.
So a prompt ends where the signature ends, never in whitespace, and where the tokenizer has a token boundary
there its ids are the very ids that begin the document at that place. Where the tokenizer merges across the
end of the signature (``):`` and the newline as one token), no such prefix exists: the text still ends at the
signature, its ids are those of the text itself, and ``TokenizerCutter.follows_document`` answers False.

This module knows the tokenizer interface of transformers by shape alone and imports none of it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_funcmem.core.records import Prompt, SourceFunction

__all__ = ["FALLBACK_NAME", "FallbackCutter", "Tokenizer", "TokenizerCutter"]

FALLBACK_NAME = "regex-v1"
"""Name of the fallback tokenizer. A change of its rules needs a new name: prompts are compared by it."""

# A run of word characters, a run of blanks, one newline, or one other character.
_FALLBACK_TOKEN = re.compile(r"\w+|[^\S\n]+|\n|[^\w\s]")

_LOOKAHEAD = 1024
"""Characters tokenized behind a signature at first, so that its last token is the document's."""

_LONGEST_LOOKAHEAD = 1 << 20

_RESYNC = 64
"""Tokens at the begin of a window that are not trusted: the document may have tokenized them otherwise."""


class Tokenizer(Protocol):
    """Text to ids and back, without special tokens being added."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text as it stands in a document."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens kept, nothing cleaned up; broken characters become U+FFFD."""
        ...


def _prompt_end(function: SourceFunction) -> int:
    """Where the prompt ends: at the end of the signature, or before whitespace that ends it."""
    end = function.signature_end
    while end > function.signature_start and function.text[end - 1].isspace():
        end -= 1
    return end


class FallbackCutter:
    """Cuts prompts for engines that have no tokenizer here: servers and replay files.

    Tokens are runs of word characters, runs of blanks, single newlines and single other characters, which
    makes them somewhat shorter than a model's. An id is the CRC-32 of the token's UTF-8: it counts and
    compares tokens and means nothing to a model.
    """

    name = FALLBACK_NAME

    def cut(self, function: SourceFunction, *, prefix_tokens: int) -> Prompt:
        """Cut the prompt of a function; see ``PromptCutter``."""
        end = _prompt_end(function)
        context = self._context(function, prefix_tokens)
        signature = _FALLBACK_TOKEN.findall(function.text[function.signature_start : end])
        tokens = [*context, *signature]
        return Prompt(
            text="".join(tokens),
            token_ids=tuple(zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens),
            tokenizer=self.name,
            context_tokens=len(context),
        )

    def _context(self, function: SourceFunction, prefix_tokens: int) -> list[str]:
        if prefix_tokens == 0:
            return []
        # A window, so that the last function of a long file costs no more than the first; it is widened until
        # its first token, which it may have cut in two, is not among those that are kept.
        reach = 16 * prefix_tokens + 256
        while True:
            low = max(0, function.signature_start - reach)
            tokens = _FALLBACK_TOKEN.findall(function.text[low : function.signature_start])
            if low == 0 or len(tokens) > prefix_tokens:
                return tokens[-prefix_tokens:]
            reach *= 4


@dataclass(frozen=True, slots=True)
class _Piece:
    """Ids of a stretch of the document, and how much of the text each number of them decodes to."""

    tokenizer: Tokenizer
    text: str
    ids: list[int]

    def characters(self, count: int) -> int | None:
        """Characters that the first ``count`` ids decode to; None where that is no prefix of the text."""
        decoded = self.tokenizer.decode(self.ids[:count]) if count else ""
        return len(decoded) if self.text.startswith(decoded) else None

    def tokens_within(self, characters: int) -> int:
        """The largest number of ids whose text lies within the first ``characters`` characters."""
        low, high = 0, len(self.ids)
        while low < high:
            middle = (low + high + 1) // 2
            # A prefix that ends inside a character decodes to one replacement mark too many or none too few:
            # its length is still in order with that of its neighbours.
            length = len(self.tokenizer.decode(self.ids[:middle]))
            if length <= characters:
                low = middle
            else:
                high = middle - 1
        return low


class TokenizerCutter:
    """Cuts prompts with a model's own tokenizer.

    Boundaries are found by decoding, not by offsets: byte-level tokenizers trim blanks off their offsets and
    give all pieces of one character the same ones.

    Args:
        tokenizer: The model's tokenizer.
        name: Its name; the same for equal tokenizers only.
    """

    def __init__(self, tokenizer: Tokenizer, *, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def cut(self, function: SourceFunction, *, prefix_tokens: int) -> Prompt:
        """Cut the prompt of a function; see ``PromptCutter``.

        A token that straddles the begin of the signature (a blank merged into ``def``) belongs to the
        signature and does not count as context.
        """
        end = _prompt_end(function)
        start = self._start(function, end, prefix_tokens)
        while True:
            ids, _ = self._ids(function.text, start, end)
            text = function.text[start:end]
            piece = _Piece(self._tokenizer, text, ids)
            before = function.signature_start - start
            # A tokenizer may begin every text with a token of no characters; it is no context.
            context = piece.tokens_within(before) if before else 0
            if context <= prefix_tokens:
                return Prompt(
                    text=text, token_ids=tuple(ids), tokenizer=self.name, context_tokens=context
                )  # fmt: skip
            # Tokenized from here, the context has more tokens than it had within the document.
            start = self._advance(piece, start, context - prefix_tokens, function.signature_start)

    def follows_document(self, function: SourceFunction, prompt: Prompt) -> bool:
        """Whether the prompt's ids begin the ids of the document from the prompt's first character on.

        False where the tokenizer has no boundary at the end of the signature.
        """
        end = _prompt_end(function)
        _, follows = self._ids(function.text, end - len(prompt.text), end)
        return follows

    def _start(self, function: SourceFunction, end: int, prefix_tokens: int) -> int:
        """Where the context begins, as a token boundary of the document."""
        text, signature = function.text, function.signature_start
        reach = 16 * prefix_tokens + _LOOKAHEAD
        while True:
            low = max(0, signature - reach)
            if low:
                # Tokenizers split after newlines, so a window that begins there is soon in step.
                newline = text.rfind("\n", 0, low)
                low = newline + 1
            ids = self._tokenizer.encode(text[low:end])
            piece = _Piece(self._tokenizer, text[low:end], ids)
            context = piece.tokens_within(signature - low)
            if low == 0 or context >= prefix_tokens + _RESYNC:
                break
            reach *= 4
        count = max(0, context - prefix_tokens)
        # A context that would begin inside a character begins behind it.
        while count <= context:
            characters = piece.characters(count)
            if characters is not None:
                return low + characters
            count += 1
        # The tokenizer does not give its text back: begin at a line, the first from which the tokens fit.
        return self._line_start(text, low, signature, prefix_tokens)

    def _line_start(self, text: str, low: int, signature: int, prefix_tokens: int) -> int:
        starts = [low] + [low + match.end() for match in re.finditer("\n", text[low:signature])]
        starts = [start for start in starts if start <= signature]
        left, right = 0, len(starts)
        while left < right:
            middle = (left + right) // 2
            if len(self._tokenizer.encode(text[starts[middle] : signature])) <= prefix_tokens:
                right = middle
            else:
                left = middle + 1
        return starts[left] if left < len(starts) else signature

    @staticmethod
    def _advance(piece: _Piece, start: int, tokens: int, signature: int) -> int:
        for count in range(tokens, len(piece.ids)):
            characters = piece.characters(count)
            if characters is not None and characters:
                return min(start + characters, signature)
        newline = piece.text.find("\n", 0, signature - start)
        return start + newline + 1 if newline >= 0 else signature

    def _ids(self, text: str, start: int, end: int) -> tuple[list[int], bool]:
        """Ids of ``text[start:end]``, and whether they begin the ids of ``text[start:]``."""
        lookahead = _LOOKAHEAD
        wanted = end - start
        before: list[int] | None = None
        while True:
            high = min(len(text), end + lookahead)
            ids = self._tokenizer.encode(text[start:high])
            piece = _Piece(self._tokenizer, text[start:high], ids)
            count = piece.tokens_within(wanted)
            head = ids[:count]
            # What stands far behind the signature does not reach back to it; two windows that agree show it.
            if high == len(text) or head == before or lookahead > _LONGEST_LOOKAHEAD:
                if self._tokenizer.decode(head) == text[start:end]:
                    return head, True
                return self._tokenizer.encode(text[start:end]), False
            before = head
            lookahead *= 4
