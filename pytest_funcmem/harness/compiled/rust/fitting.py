"""Mends types that do not fit: what a compiler expected and found, and traits that something lacks.

What a message says of types that stand in is used to find out what they are.
"""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.callables import called
from pytest_funcmem.harness.compiled.rust.implementations import (
    implement_deref,
    implement_index,
)
from pytest_funcmem.harness.compiled.rust.messages import PAIR, TICKS, Message, Work, bare
from pytest_funcmem.harness.compiled.rust.numbers import NUMBERS, floated, renumbered
from pytest_funcmem.harness.compiled.rust.operators import operator
from pytest_funcmem.harness.compiled.rust.reopening import (
    listed_after_all,
    made_otherwise,
    named_for_another,
    one_after_all,
    paired_after_all,
    sized_otherwise,
    text_after_all,
    value_after_all,
    wrapped_after_all,
)
from pytest_funcmem.harness.compiled.rust.results import loosened
from pytest_funcmem.harness.compiled.rust.typetext import is_open, normal, settle, unify

__all__ = ["in_pattern", "mismatch", "operands", "resigned", "used_as"]

_PAIR_BARE = re.compile(r"expected `([^`]+)`,? found (integer|floating-point number)")
_PAIR_BARE_LEFT = re.compile(r"expected (integer|floating-point number|bool|char),? found `([^`]+)`")
_PAIR_NOTE = re.compile(r"expected [^`\n]*`([^`\n]+)`\s*\n\s*found [^`\n]*`([^`\n]+)`")


def mismatch(work: Work, message: Message) -> bool:
    """Types that were expected and found: what is open about one of them is that of the other."""
    texts = [str(span["label"]) for span in message["spans"]]
    texts += [child["message"] for child in message["children"]]
    changed = False
    for text in [message["message"], *texts]:
        for pattern in (_PAIR_NOTE, PAIR, _PAIR_BARE, _PAIR_BARE_LEFT):
            for left, right in pattern.findall(text):
                if paired_after_all(work, left, right):
                    return True
                changed = unify(work.plan, left, right) or changed
                for one, other in ((left, right), (right, left)):
                    changed = changed or text_after_all(work, one, other) or one_after_all(work, one, other)
                changed = changed or renumbered(work, message, left, right)
                changed = changed or listed_after_all(work, left, right)
                changed = changed or made_otherwise(work, message, left, right)
                changed = changed or wrapped_after_all(work, message, left, right)
    return changed or any(
        mend(work, message) for mend in (sized_otherwise, value_after_all, named_for_another)
    )


def resigned(work: Work, message: Message) -> bool:
    """Types that do not become one: one leads to the other, or each call decides for itself."""
    texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
    texts += [child["message"] for child in message["children"]]
    pairs = [pair for text in texts for pattern in (_PAIR_NOTE, PAIR) for pair in pattern.findall(text)]
    if any(seen_as(work, left, right) or floated(work, left, right) for left, right in pairs):
        return True
    words = {word for text in texts for word in re.findall(r"\bMade_\w+", text)}
    return any(loosened(work, word) for word in sorted(words))


def seen_as(work: Work, expected: str, found: str) -> bool:
    """A type that stands in and is used behind a reference as what it leads to."""
    reference = re.compile(r"&\s*(?:'\w+\s+)?(?:mut\s+)?")
    if not reference.match(expected) or not reference.match(found):
        return False
    return implement_deref(work.plan, bare(found), bare(expected))


def operands(work: Work, message: Message) -> bool:
    """Operators on what stands in: it is of the other operand's type, or a number."""
    labels = [label for span in message["spans"] for label in TICKS.findall(str(span["label"]))]
    named = [*TICKS.findall(message["message"]), *labels]
    both = re.search(r"no implementation for `(\S.*?) (?:[-+*/%&|^]|<<|>>)=? (.*?)`", message["message"])
    named += [*both.groups()] if both else []
    open_names = [name for name in map(bare, named) if is_open(work.plan, name)]
    if not open_names:
        pair = [name for name in map(bare, named) if name in NUMBERS][:2]
        return (len(pair) == 2 and renumbered(work, message, *pair)) or operator(work, message)
    code = message["code"]
    if code == "E0600":
        texts = [re.sub(r"\|[^|;{}]*\|", "", str(span["text"])) for span in message["spans"]]
        is_mask = any(re.search(r"(?<![&|])[&|^](?![&|])=?\s*!", text) for text in texts)
        is_truth = "`!`" in message["message"] and not is_mask
        return settle(work.plan, open_names[0], "bool" if is_truth else "i64")
    for name in open_names:
        for other in named:
            text = "String" if bare(other) == "str" else normal(work.plan, bare(other))
            is_operator = re.fullmatch(r"[-+*/%&|^<>=!.\[\]]+|\w+=", other)
            is_type = text and not is_operator and re.fullmatch(r"[\w:<>&' ,\[\]();]+", text)
            is_known = text and is_type and text not in (name, "_") and not is_open(work.plan, text)
            # The other side may be a guess as well.
            is_guess = "{" in other or text == "i64"
            if text and is_known and settle(work.plan, name, text, weak=is_guess):
                return True
    return settle(work.plan, open_names[0], "i64", weak=True)


def used_as(work: Work, message: Message) -> bool:
    """What is indexed, dereferenced, called or cast."""
    plan = work.plan
    labels = [label for span in message["spans"] for label in TICKS.findall(str(span["label"]))]
    for whole in [*TICKS.findall(message["message"]), *labels]:
        name = bare(whole)
        if not is_open(plan, name):
            cast = re.search(r"cast: `&(?:mut )?(\w+)` as `&(?:mut )?([^`]+)`", message["message"])
            if cast and implement_deref(plan, cast[1], cast[2]):
                return True
            if message["code"] == "E0608" and any(
                implement_index(plan, inner) for inner in re.findall(r"(?<!')\b\w+\b(?!::)", name)
            ):
                return True
            continue
        match message["code"]:
            case "E0608":
                return settle(plan, name, f"Vec<{plan.fresh(name + '_item')}>")
            case "E0614":
                return settle(plan, name, f"&'static {plan.fresh(name + '_value')}")
            case "E0604" | "E0605" | "E0606" | "E0607":
                return settle(plan, name, "i64", weak=True)
            case "E0599":
                return False
            case "E0618":
                return called(work, message, name)
    return False


def in_pattern(work: Work, message: Message) -> bool:
    """A constant in a pattern is of a plain type."""
    names = [bare(name) for name in TICKS.findall(message["message"])]
    for name in names:
        kind = work.plan.types.get(name.rpartition("::")[2])
        if kind is None or "non-structural" not in message["message"] or kind.is_pattern:
            continue
        if kind.constants and not kind.fields and set(kind.constants.values()) == {"Self"}:
            # As variants they are all that there is, and a match on them is whole.
            kind.variants.update(dict.fromkeys(kind.constants))
            kind.constants = {}
            return True
        kind.is_pattern = True
        return True
    return any(is_open(work.plan, name) and settle(work.plan, name, "i64", weak=True) for name in names)
