"""Takes back what was decided of what stands in where a later message shows that it was something else."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.constants import constant_value
from pytest_funcmem.harness.compiled.rust.messages import Message, Work, bare, traced_words
from pytest_funcmem.harness.compiled.rust.plan import StandInFunction
from pytest_funcmem.harness.compiled.rust.typetext import is_open, normal

__all__ = [
    "listed_after_all",
    "made_otherwise",
    "named_for_another",
    "one_after_all",
    "owned_after_all",
    "paired_after_all",
    "reopened",
    "sized_otherwise",
    "text_after_all",
    "value_after_all",
    "wrapped_after_all",
]

_ARRAY = re.compile(r"&\s*(?:'\w+\s+)?(?:mut\s+)?\[(?P<item>.+); (?P<count>\d+|_)\]")
_WRAPPED = re.compile(r"(?:std::(?:result|option)::)?(?:Result|Option)<.*>\Z")


def value_after_all(work: Work, message: Message) -> bool:
    """What was taken for a function by its name, is never called, and is met where a value is wanted."""
    texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
    texts += [child["message"] for child in message["children"]]
    for name in re.findall(r"(?:found|expected) [^\n]*\bfn\([^`]*\{(\w+)(?:::<[^`]*>)?\}", "\n".join(texts)):
        if name in work.plan.functions and not work.uses.calls.get(name):
            del work.plan.functions[name]
            work.plan.constants[name] = work.plan.fresh(name)
            return True
    return False


def sized_otherwise(work: Work, message: Message) -> bool:
    """What was taken for an array of one size, where a message tells nothing but two sizes."""
    labels = " ".join(str(span["label"]) for span in message["spans"])
    match = re.search(r"expected an array with a size of (\d+), found one with a size of (\d+)", labels)
    changed = False
    for kind in work.plan.types.values() if match else ():
        array = _ARRAY.fullmatch(kind.alias or "")
        if match and array and array["count"] in match.groups():
            kind.alias, changed = f"&'static [{array['item']}]", True
    for name, text in work.plan.constants.items() if match and not changed else ():
        value = constant_value(work.plan, name, text)
        if match is None or not value.isdigit() or name in work.plan.sizes:
            continue
        wanted, found = int(match[1]), int(match[2])
        # A length may be a part of the constant, or a multiple of it.
        for one, other in ((found, wanted), (wanted, found)):
            part = int(value) // one if one else 0
            if part and int(value) // part == one:
                work.plan.sizes[name] = str(other * part)
                return True
            if one and one % int(value) == 0 and other % (one // int(value)) == 0:
                work.plan.sizes[name] = str(other // (one // int(value)))
                return True
    return changed


def listed_after_all(work: Work, left: str, right: str) -> bool:
    """What was taken for an array of one size, and is met with another: it is a part of a list."""
    sizes = [_ARRAY.fullmatch(text.strip()) for text in (left, right)]
    if not all(sizes) or len({match["count"] for match in sizes if match}) < 2:
        return False
    known = {text for text in (normal(work.plan, left), normal(work.plan, right)) if text is not None}
    changed = False
    for kind in work.plan.types.values():
        match = _ARRAY.fullmatch(kind.alias or "")
        if match and kind.alias in known:
            kind.alias, changed = f"&'static [{match['item']}]", True
    return changed


def made_otherwise(work: Work, message: Message, expected: str, found: str) -> bool:
    """A result that was taken for its own type by its name, and is met as an option or a result."""
    for own, wrapped in ((expected, found), (found, expected)):
        kind = work.plan.types.get(bare(own).partition("<")[0])
        if kind is None or kind.alias is not None or not _WRAPPED.match(wrapped):
            continue
        text = normal(work.plan, re.sub(r"<(?:_|T)\b", "<Self", wrapped, count=1))
        said = " ".join(str(span["text"]) for span in message["spans"])
        own_functions = sorted(
            kind.functions.items(), key=lambda pair: re.search(rf"::\s*{pair[0]}\b", said) is None
        )
        for name, function in own_functions:
            if text is None or function.result != "Self":
                continue
            while re.search(r"\b_\b", text):
                text = re.sub(r"\b_\b", work.plan.fresh(f"{name}_error"), text, count=1)
            function.result = text
            return True
    return False


def named_for_another(work: Work, message: Message) -> bool:
    """A type that calls name, taken for that of their results: it is a type parameter that does not fit."""
    texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
    texts += [child["message"] for child in message["children"]]
    whole = "\n".join(texts)
    words = set(re.findall(r"type parameter `(\w+)`|non-primitive cast: `(\w+)` as", whole))
    named = {word for pair in words for word in pair if word}
    said = " ".join(str(span["text"]) for span in message["spans"])
    wrong = re.search(r"expected type parameter `\w+`, found `(\w+)`|expected `\w+`, found `(\w+)`", whole)
    for parameter in sorted(named & work.plan.file.parameters):
        given = [
            (name, function)
            for table in work.tables()
            for name, function in table.items()
            if function.turbofish
            and re.search(rf"\b{name}\s*::\s*<\s*{parameter}\b", work.plan.file.tree.text)
        ]
        for name, function in given:
            if wrong and function.result in wrong.groups() and ("theirs", name) not in work.plan.history:
                # It gives what is named after all.
                work.plan.history.add(("theirs", name))
                function.result = None
                return True
        for name, function in sorted(given, key=lambda pair: f"{pair[0]}::<" not in said):
            if _decide_apart(work, name, function):
                return True
    return False


def _decide_apart(work: Work, name: str, function: StandInFunction) -> bool:
    if not function.turbofish or ("theirs", name) in work.plan.history:
        return False
    if function.result is None:
        function.result = work.plan.fresh(name)
    elif re.search(r"\bX0\b", function.result):
        function.result = re.sub(r"\bX0\b", work.plan.fresh(name), function.result)
    else:
        return False
    return True


def paired_after_all(work: Work, expected: str, found: str) -> bool:
    """What a parser's result was taken to hold, and holds together with what is left of its input."""
    plan = work.plan
    match = re.fullmatch(r"\((?:[^,()]+|\([^()]*\)), (.*)\)", found.strip())
    if match is None or match[1] != expected:
        return False
    head = plan.function.text[plan.function.signature_start : plan.function.signature_end]
    taken = re.search(r":\s*&\s*(?:'\w+\s+)?(\[u8\]|str)", head)
    for kind in plan.types.values():
        start = "std::result::Result<T0,"
        if (
            kind.alias is None
            or not kind.alias.startswith(start)
            or not re.search(rf"\b{kind.name}\s*<", head)
        ):
            continue
        if taken:
            kind.lifetimes = max(1, kind.lifetimes)
        rest = f"&'l0 {taken[1]}" if taken else plan.fresh(f"{kind.name}_rest")
        kind.alias = f"std::result::Result<({rest}, T0),{kind.alias.removeprefix(start)}"
        return True
    return False


def wrapped_after_all(work: Work, message: Message, expected: str, found: str) -> bool:
    """What was taken for a value by another use, and is matched as an option or a result that holds it."""
    plan = work.plan
    is_matched = any(
        "this expression has type" in str(span["label"]) for span in message["spans"]
    ) and re.fullmatch(r"(?:std::(?:result|option)::)?(Result<_, _>|Option<_>)", found)
    text = normal(plan, expected)
    if not is_matched or text is None:
        return False
    for kind in plan.types.values():
        if kind.alias != text or ("wrapped", kind.name) in plan.history:
            continue
        plan.history.add(("wrapped", kind.name))
        is_option = "Option" in found
        error = "" if is_option else f", {plan.fresh(kind.name + '_error')}"
        kind.alias = f"Option<{text}>" if is_option else f"std::result::Result<{text}{error}>"
        kind.is_weak = False
        return True
    return False


def reopened(work: Work, message: Message) -> bool:
    """What nothing else helps with: a part on the line is of another type, or each call decides it.

    Each is taken back once, so that mending ends.
    """
    plan = work.plan
    for word in traced_words(work, message):
        for table in work.tables():
            function = table.get(word)
            if function is None or ("reopened", word) in plan.history:
                continue
            if _decide_apart(work, word, function):
                plan.history.add(("reopened", word))
                return True
            if function.result is not None and not function.turbofish and not function.is_const:
                plan.history.add(("reopened", word))
                function.result, function.free = None, []
                return True
        for kind in plan.types.values():
            text = kind.fields.get(word)
            own = plan.types.get(text or "")
            if own is None or own.alias is None or ("reopened", kind.name, word) in plan.history:
                continue
            plan.history.add(("reopened", kind.name, word))
            kind.fields[word] = plan.fresh(f"{kind.name}_{word}")
            plan.types[kind.fields[word]].tried = set(own.tried)
            return True
    return False


def text_after_all(work: Work, one: str, other: str) -> bool:
    """What was taken for a list since a part of it was asked for, and is a text."""
    item = re.fullmatch(r"&\s*(?:'\w+\s+)?(?:mut\s+)?\[(\w+)\]", other)
    if bare(one) != "str" or item is None or not is_open(work.plan, item[1]):
        return False
    for kind in work.plan.types.values():
        if kind.alias == f"Vec<{item[1]}>":
            kind.alias = "String"
            return True
    return False


def owned_after_all(work: Work) -> bool:
    """What was taken for a text that is lent, and is lent itself where it is compared with one."""
    for kind in work.plan.types.values():
        if kind.alias == "&'static str" and ("owned", kind.name) not in work.plan.history:
            work.plan.history.add(("owned", kind.name))
            kind.alias = "String"
            return True
    return False


def one_after_all(work: Work, one: str, other: str) -> bool:
    """What was taken for many values since it is mapped, and is one or none."""
    many = re.match(r"(?:\w+::)*[A-Z]\w*<(?:std::vec::)?IntoIter<(\w+)>", other)
    single = re.match(r"(?:std::option::)?Option<|(?:std::result::)?Result<", one)
    if many is None or single is None:
        return False
    for kind in work.plan.types.values():
        if kind.alias == f"std::vec::IntoIter<{many[1]}>":
            is_option = "Option" in single[0]
            error = "" if is_option else f", {work.plan.fresh(kind.name + '_error')}"
            kind.alias = f"Option<{many[1]}>" if is_option else f"std::result::Result<{many[1]}{error}>"
            return True
    return False
