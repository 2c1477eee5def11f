"""Mends what is called though it stands in, and what the closures that it is given give back."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.messages import Message, Work, unprobed
from pytest_funcmem.harness.compiled.rust.plan import StandInFunction
from pytest_funcmem.harness.compiled.rust.signature import split_types
from pytest_funcmem.harness.compiled.rust.typetext import normal, settle

__all__ = ["built_by_name", "called", "given_back"]

_MOST = 3
"""How many arguments a function may take that the runtime makes."""


def called(work: Work, message: Message, name: str) -> bool:
    """A value that stands in is called: it is a function, and each call of what gave it decides its type."""
    count = _arguments(message)
    if count > _MOST:
        return False
    plan = work.plan
    for table in work.tables():
        for function in table.values():
            if function.result == name and not function.turbofish and not function.is_const:
                first = len(function.free)
                function.free += [f"F{first + place}" for place in range(count + 1)]
                *given, result = function.free[first:]
                function.result = f"fn({', '.join(given)}) -> {result}"
                return True
    given = [plan.fresh(f"{name}_given") for _ in range(count)]
    return settle(plan, name, f"fn({', '.join(given)}) -> {plan.fresh(name + '_answer')}")


def built_by_name(work: Work, message: Message) -> bool:
    """What stands in and is given away as a function: a type or a variant whose name makes its values."""
    plan = work.plan
    match = re.search(r"expected an? `Fn\w*\((.*)\)` closure, found `([^`]+)`", message["message"])
    name = match[2].partition("<")[0] if match else ""
    kind = plan.types.get(name)
    if match is None or kind is None or kind.alias is not None:
        return False
    texts = [normal(plan, text) for text in split_types(match[1])]
    # What generic code holds of its own is what the type is given.
    hidden = "T0" if kind.parameters == 1 and len(texts) == 1 else ""
    given = [
        (hidden or plan.fresh(f"{name}_part")) if text is None or re.search(r"\b_\b", text) else text
        for text in texts
    ]
    said = " ".join(str(span["text"]) for span in message["spans"])
    for variant in re.findall(rf"\b{name}\s*::\s*(\w+)", said):
        if variant in kind.variants and kind.variants[variant] is None:
            kind.variants[variant] = [*given]
            return True
    for function in re.findall(rf"\b{name}\s*::\s*(\w+)", said):
        if kind.constants.pop(function, "") == "Self":
            kind.functions[function] = StandInFunction(len(given), "Self")
            return True
    if kind.fields or kind.variants or not given:
        return False
    kind.shape, kind.fields = "tuple", {str(place): text for place, text in enumerate(given)}
    return True


def _arguments(message: Message) -> int:
    """With how many arguments a call is made, as far as one line shows it; else 1."""
    callee = next((span for span in message["spans"] if span["is_primary"]), None)
    whole = next((span for span in message["spans"] if "call expression" in str(span["label"])), callee)
    if callee is None or whole is None:
        return 1
    text = str(whole["text"])
    start = int(callee.get("column_end", 1)) - 1
    end = int(whole.get("column_end", 1)) - 1
    listed = text[start:end].strip()
    if whole.get("line_end") != callee.get("line_start") or not listed.startswith("("):
        return 1
    return len(split_types(listed[1:-1]))


def given_back(work: Work, message: Message) -> bool:
    """What a closure gives back is an option or a result of which one side is never told."""
    whole = [message["message"], *(str(span["label"]) for span in message["spans"])]
    match = re.search(r"type parameter `[TE]` declared on the enum `(Result|Option)`", "\n".join(whole))
    if match is None:
        return False
    said = {unprobed(str(span["text"])) for span in message["spans"]} - {""}
    for name, call in work.uses.all_calls():
        for place, _ in call.closures:
            text = unprobed(call.arguments[place])
            if not any(part in text or text in part for part in said):
                continue
            for table in work.tables():
                function = table.get(name)
                if function is None or place not in function.closures or place in function.given_back:
                    continue
                text = f"Option<{work.plan.fresh(name + '_value')}>"
                if match[1] == "Result":
                    parts = [work.plan.fresh(f"{name}_{part}") for part in ("value", "error")]
                    text = f"std::result::Result<{', '.join(parts)}>"
                around = re.search(
                    r"((?:Poll::Ready\(|Some\()+)(?:Ok|Err|Some|None)\b", call.arguments[place]
                )
                for outer in reversed(re.findall(r"Poll|Some", around[1])) if around else ():
                    text = f"std::task::Poll<{text}>" if outer == "Poll" else f"Option<{text}>"
                function.given_back[place] = text
                return True
    return False
