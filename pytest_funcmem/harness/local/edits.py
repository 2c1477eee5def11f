"""Small changes to input states: one leaf replaced, an item dropped or repeated, a value swapped in.

States are source text; changes are made on its syntax tree, so that they stay readable.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.local.analysis import Analysis, UnreadableFunctionError, parse_quietly
from pytest_funcmem.harness.local.literals import constant_text
from pytest_funcmem.harness.local.strategies import near_numbers

__all__ = ["Slot", "change", "share", "slots_of", "with_slot"]

Slot = tuple[str, int]
"""Part of a state: ``("argument", n)``, ``("keyword", n)``, ``("receiver", 0)``, ``("setup", n)``."""

_EMPTY = {ast.List: "[]", ast.Dict: "{}", ast.Tuple: "()", ast.Set: "set()"}


def slots_of(analysis: Analysis, state: InputState) -> dict[str, list[Slot]]:
    """Slots of a state by the parameter (or receiver) that they give a value to."""
    found: dict[str, list[Slot]] = {}
    positional = [item.name for item in analysis.parameters if item.kind == "positional"]
    variable = [item.name for item in analysis.parameters if item.kind == "var_positional"]
    for place in range(len(state.arguments)):
        name = positional[place] if place < len(positional) else (variable or [""])[0]
        found.setdefault(name, []).append(("argument", place))
    for place, (name, _) in enumerate(state.keywords):
        found.setdefault(name, []).append(("keyword", place))
    if analysis.receiver is not None and state.receiver is not None:
        found[analysis.receiver] = [("receiver", 0)]
    return found


def slot_text(state: InputState, slot: Slot) -> str:
    """Source in a slot."""
    sort, place = slot
    match sort:
        case "argument":
            return state.arguments[place]
        case "keyword":
            return state.keywords[place][1]
        case "receiver":
            return state.receiver or "None"
        case _:
            return state.setup[place].split(" = ", 1)[-1]


def with_slot(state: InputState, slot: Slot, text: str) -> InputState:
    """The same state with other source in one slot."""
    sort, place = slot
    match sort:
        case "argument":
            return replace(state, arguments=(*state.arguments[:place], text, *state.arguments[place + 1 :]))
        case "keyword":
            name = state.keywords[place][0]
            return replace(
                state, keywords=(*state.keywords[:place], (name, text), *state.keywords[place + 1 :])
            )
        case "receiver":
            return replace(state, receiver=text)
        case _:
            head = state.setup[place].split(" = ", 1)[0]
            return replace(state, setup=(*state.setup[:place], f"{head} = {text}", *state.setup[place + 1 :]))


def change(state: InputState, slot: Slot, constants: Sequence[str], generator: random.Random) -> InputState:
    """Change one slot of a state a little.

    Args:
        state: Where to begin.
        slot: What to change.
        constants: Constants worth trying.
        generator: Source of choices.
    """
    text = slot_text(state, slot)
    try:
        tree = parse_quietly(text).body[0]
    except (UnreadableFunctionError, IndexError):
        return state
    if not isinstance(tree, ast.Expr):
        return state
    if slot[0] == "receiver" and is_made_up(tree.value):
        return state
    places = _places(tree.value)
    if not places and slot[0] == "receiver":
        return state  # there is nothing in it to change, and another value would be no receiver
    if not places:
        return with_slot(state, slot, generator.choice([*constants, "None"]))
    node, put = generator.choice(places)
    new = _changed(node, constants, generator)
    changed = put(tree.value, new)
    return with_slot(state, slot, ast.unparse(changed))


def with_constant(state: InputState, slots: Sequence[Slot], old: str, new: str) -> InputState:
    """The same state with one constant, given as source, in the place of another wherever that stands."""
    for slot in slots:
        text = slot_text(state, slot)
        if old not in text and repr(old) not in text:
            continue
        try:
            tree = parse_quietly(text).body[0]
            replacement = _expression(new)
        except (UnreadableFunctionError, IndexError, SyntaxError):
            continue
        if isinstance(tree, ast.Expr):
            root = tree.value
            for node, put in _places(root):
                if constant_text(node) in (old, repr(old)):
                    root = put(root, replacement)
            state = with_slot(state, slot, ast.unparse(root))
    return replace(
        state, answers=tuple((key, new if text in (old, repr(old)) else text) for key, text in state.answers)
    )


def share(analysis: Analysis, state: InputState, generator: random.Random) -> InputState:
    """Put a constant of one part of a state into another part, so that what is looked up can be found."""
    slots = [slot for found in slots_of(analysis, state).values() for slot in found]
    if len(slots) < 2:
        return state
    giver, taker = generator.sample(slots, 2)
    constants = leaves(slot_text(state, giver))
    return change(state, taker, constants, generator) if constants else state


def leaves(text: str) -> tuple[str, ...]:
    """Constants in an expression, as source."""
    try:
        tree = parse_quietly(text)
    except UnreadableFunctionError:
        return ()
    found = [constant_text(node) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return tuple(dict.fromkeys(item for item in found if item is not None and item != "None"))


def is_made_up(node: ast.expr) -> bool:
    """Whether an expression is a made-up object."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fabricated"


Put = Callable[[ast.expr, ast.expr], ast.expr]


def _places(root: ast.expr) -> list[tuple[ast.expr, Put]]:
    """Constants and displays of an expression, each with a way to put something else in its place."""
    found: list[tuple[ast.expr, Put]] = []
    stack: list[ast.expr] = [root]
    while stack:
        node = stack.pop()
        is_leaf = constant_text(node) is not None or is_made_up(node)
        if is_leaf or isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set):
            found.append((node, _putter(node)))
        if is_leaf:
            continue
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id == "__import__"):
                stack.extend(keyword.value for keyword in reversed(node.keywords))
                stack.extend(reversed(node.args))
        elif isinstance(node, ast.Dict):
            stack.extend(reversed([*(key for key in node.keys if key is not None), *node.values]))
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            stack.extend(reversed(node.elts))
    return found


def _putter(target: ast.expr) -> Put:
    class Replacing(ast.NodeTransformer):
        def __init__(self, new: ast.expr) -> None:
            self.new = new

        def visit(self, node: ast.AST) -> ast.AST:
            return self.new if node is target else self.generic_visit(node)

    def put(root: ast.expr, new: ast.expr) -> ast.expr:
        result = Replacing(new).visit(root)
        return result if isinstance(result, ast.expr) else root

    return put


def _changed(node: ast.expr, constants: Sequence[str], generator: random.Random) -> ast.expr:
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _changed_sequence(node, items, generator)
        case ast.Dict(keys=keys, values=values):
            if not keys or generator.random() < 0.2:
                return ast.Dict(keys=[], values=[])
            place = generator.randrange(len(keys))
            return ast.Dict(
                keys=keys[:place] + keys[place + 1 :], values=values[:place] + values[place + 1 :]
            )
        case _:
            text = constant_text(node) or generator.choice([*constants[:8], "None", "0", "''"])
            return _expression(_changed_leaf(text, constants, generator))


def _changed_sequence(
    node: ast.List | ast.Tuple | ast.Set, items: list[ast.expr], generator: random.Random
) -> ast.expr:
    choice = generator.randrange(5)
    if not items or choice == 0:
        return _expression(_EMPTY[type(node)])
    place = generator.randrange(len(items))
    if choice == 1:
        changed = items[:place] + items[place + 1 :]
    elif choice == 2:
        changed = [*items[:place], items[place], *items[place:]]
    elif choice == 3:
        changed = items[::-1]
    else:
        changed = [*items, items[0]]
    if isinstance(node, ast.Set):
        return ast.Set(elts=changed) if changed else _expression("set()")
    return type(node)(elts=changed, ctx=ast.Load())


def _changed_leaf(text: str, constants: Sequence[str], generator: random.Random) -> str:
    number = text[0] in "-0123456789"
    is_text = text[0] in "'\""
    same = [
        item for item in constants if (item[0] in "-0123456789") == number and (item[0] in "'\"") == is_text
    ]
    if number:
        same.extend(near_numbers(same, whole="." not in text and "e" not in text))
    if same and generator.random() < 0.75:
        return generator.choice(same)
    if number:
        return generator.choice(
            ["0", "-1", "1", text.lstrip("-"), f"-{text.lstrip('-')}", f"{text.lstrip('-')}0", "2"]
        )
    if is_text:
        value = str(ast.literal_eval(text))
        return repr(
            generator.choice(
                [
                    value.upper(),
                    value.lower(),
                    value + "x",
                    value[:-1],
                    value[::-1],
                    "",
                    value * 2,
                    value.title(),
                ]
            )
        )
    if text in ("True", "False"):
        return "False" if text == "True" else "True"
    return generator.choice([*constants[:8], "None", "0", "''"])


def _expression(text: str) -> ast.expr:
    statement = ast.parse(text, mode="eval")
    return statement.body
