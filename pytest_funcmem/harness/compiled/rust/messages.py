"""A compiler's messages about a scaffold, and what is needed to see whom they are about.

What comes in was checked to have the shape of a message; nothing here changes a plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction
from pytest_funcmem.harness.compiled.rust.render import Rendered
from pytest_funcmem.harness.compiled.rust.uses import Uses

__all__ = ["PAIR", "TICKS", "Message", "Work", "bare", "in_one_module", "traced_words", "unprobed"]

Message = dict[str, Any]
TICKS = re.compile(r"`([^`]+)`")
"""What a message quotes."""
PAIR = re.compile(r"expected (?:[a-z ]+ )?`([^`]+)`,? found (?:[a-z ]+ )?`([^`]+)`")
"""What was expected and what was found."""


@dataclass
class Work:
    """One round of mending.

    Attributes:
        plan: Changed by whoever mends.
        rendered: What was compiled, but for the function.
        uses: Of names in what was compiled.
        extra_lines: Lines of the function after its first: the hole counts as one.
    """

    plan: Plan
    rendered: Rendered
    uses: Uses
    extra_lines: int

    @cached_property
    def code(self) -> str:
        """The function as it is compiled."""
        return flattened(self.plan.function.code, self.plan.names)

    def owner(self, message: Message) -> str:
        """Whose the place is that a message is about."""
        spans = [span for span in message["spans"] if span["is_primary"]] or message["spans"]
        return self.owner_of(int(spans[0]["line_start"])) if spans else ""

    def owner_of(self, line: int) -> str:
        """Whose a line of the compiled text is."""
        hole = self.rendered.hole
        if hole <= line <= hole + self.extra_lines:
            return "target"
        return self.rendered.owner(line if line < hole else line - self.extra_lines)

    def tables(self) -> list[dict[str, StandInFunction]]:
        """Everything that stands in and is called."""
        return [
            self.plan.methods,
            self.plan.functions,
            *(kind.functions for kind in self.plan.types.values()),
            *self.plan.own_methods.values(),
        ]


def unprobed(text: str) -> str:
    """Code without blanks, braces and what probes put into it, so that texts of it can be compared."""
    return re.sub(r"funcmem::hit\(\d+\);|[\s{}]|,\Z", "", text).rstrip(",;")


def traced_words(work: Work, message: Message) -> list[str]:
    """The words on a message's lines, then those that the variables among them get their values from."""
    lines = [str(span["text"]) for span in message["spans"]]
    words = [word for text in lines for word in re.findall(r"[A-Za-z_]\w*", text)]
    for word in dict.fromkeys(words):
        for given in re.findall(rf"\blet\s+(?:mut\s+)?{word}\b[^=;]*=([^;]*);", work.code):
            words += re.findall(r"[A-Za-z_]\w*", given)
    return list(dict.fromkeys(words))


def in_one_module(message: Message) -> Message:
    """A message whose types are named as the scaffold names them."""
    strip = re.compile(r"\b(?:crate::|main::)?p\d+::")
    return {
        **message,
        "message": strip.sub("", message["message"]),
        "spans": [{**span, "label": strip.sub("", span["label"])} for span in message["spans"]],
        "children": [{**child, "message": strip.sub("", child["message"])} for child in message["children"]],
    }


def bare(text: str) -> str:
    """A type without the references around it."""
    return re.sub(r"^(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+", "", text.strip())
