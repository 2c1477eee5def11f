"""Mends methods that stand in under one name and are several: each type of receivers gets its own."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.messages import Message, Work, bare
from pytest_funcmem.harness.compiled.rust.plan import StandInFunction
from pytest_funcmem.harness.compiled.rust.typetext import normal

__all__ = ["counted_otherwise", "own_method", "told_apart"]


def counted_otherwise(work: Work, message: Message) -> bool:
    """A method is called with another number of arguments than elsewhere."""
    match = re.search(r"method takes (\d+) arguments? but (\d+)", message["message"])
    if match is None:
        return False
    for span in message["spans"]:
        for name in re.findall(r"\.\s*(\w+)\s*(?:::<[^()]*>)?\(", str(span["text"])):
            function = work.plan.methods.get(name)
            if function is not None and function.arity == int(match[1]):
                return _split(work, name)
    return False


def told_apart(work: Work, message: Message) -> bool:
    """A method whose result fits some of its calls only, where nothing else helps."""
    for span in message["spans"]:
        for name in re.findall(r"\.\s*(\w+)\s*(?:::<[^()]*>)?\(", str(span["text"])):
            function = work.plan.methods.get(name)
            if function is None or function.result is None or len(work.uses.methods.get(name, ())) < 2:
                continue
            if ("told apart", name) not in work.plan.history:
                work.plan.history.add(("told apart", name))
                function.result = None
                return True
            return _split(work, name)
    return False


def _split(work: Work, name: str) -> bool:
    if ("everywhere", name) in work.plan.history:
        return False
    del work.plan.methods[name]
    work.plan.typed.add(name)
    return True


def own_method(work: Work, name: str, receiver: str, line: int) -> bool:
    """Let something stand in for a method of one type; the type as a message names it."""
    plan = work.plan
    text = bare(receiver)
    own = text.partition("<")[0].rpartition("::")[2]
    if own not in plan.types and own not in plan.names.own:
        own = normal(plan, text) or ""
    calls = work.uses.methods.get(name, [])
    calls = [call for call in calls if call.line == line] or calls
    if not own and calls and ("everywhere", name) not in plan.history:
        # What it belongs to has no name here: all types have it again.
        plan.history.add(("everywhere", name))
        for others in plan.own_methods.values():
            others.pop(name, None)
        plan.typed.discard(name)
        call = calls[0]
        plan.methods[name] = StandInFunction(call.arity, None, dict(call.closures), turbofish=call.types)
        return True
    methods = plan.own_methods.setdefault(own, {})
    if not own or not calls or name in methods:
        return False
    methods[name] = StandInFunction(
        calls[0].arity,
        "Self" if name == "clone" else "()" if calls[0].is_statement else None,
        dict(calls[0].closures),
        turbofish=calls[0].types,
        inferred=calls[0].inferred,
    )
    return True
