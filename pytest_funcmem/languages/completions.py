"""What is common to raw completions in every language: special tokens, newlines, code fences.

Knows nothing of any language's syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FENCE", "OPENING_FENCE", "RawText", "read_raw"]

# Every piece begins with the only "<" in it, so no longer text can move the first match to the left.
_END_OF_TEXT = re.compile(
    r"<\|(?:endoftext|end_of_text|begin_of_text|eot_id|eom_id|im_end|im_start|file_sep|repo_name|file_separator"
    r"|fim_prefix|fim_middle|fim_suffix|fim_pad|EOT|end|eos|bos|user|assistant|system)\|>"
    r"|</?s>|<EOT>|<(?:eos|bos|pad|end_of_turn|start_of_turn|file_sep|filename|reponame|repo_name|gh_stars"
    r"|empty_output|jupyter_(?:start|text|code|output)|issue_start|commit_msg)>"
    r"|<fim[_-](?:prefix|middle|suffix|pad)>"
    r"|<\uff5c(?:end|begin)\u2581of\u2581sentence\uff5c>|<\uff5cfim\u2581(?:begin|hole|end)\uff5c>"
)

FENCE = "```"
OPENING_FENCE = re.compile(r"[ \t]*```[ \t]*[\w+#.-]*[ \t]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawText:
    """A completion without what the engine or the tokenizer left in it.

    Attributes:
        text: Newlines as line feeds; cut before the first special token that ends a text.
        rest: What was cut away, with that token; "" if nothing was.
    """

    text: str
    rest: str


def read_raw(completion: str, *, original: str) -> RawText:
    """Normalise newlines and cut where a special token ends the text.

    Args:
        completion: What came after the prompt.
        original: Text of the original; a token that stands in it is part of the code (an ``</s>`` in HTML).
    """
    text = completion
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for match in _END_OF_TEXT.finditer(text):
        if match.group() not in original:
            return RawText(text=text[: match.start()], rest=text[match.start() :])
    return RawText(text=text, rest="")
