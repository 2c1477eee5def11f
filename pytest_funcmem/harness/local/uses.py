"""Reads how a function uses what it is given, statement by statement, and writes it down as evidence.

An abstract reading: each name stands for the evidence of the value it was derived from, loops are read once,
both sides of a branch are read. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_funcmem.harness.local.analysis import Analysis, FunctionNode, dotted_name
from pytest_funcmem.harness.local.evidence import MAX_DEPTH, Evidence
from pytest_funcmem.harness.local.literal_roots import LiteralRoots
from pytest_funcmem.harness.local.literals import constant_text, literals_in
from pytest_funcmem.harness.local.vocabulary import ATTRIBUTE_KINDS, METHOD_KINDS, TEXT_KEEPERS, TYPE_KINDS
from pytest_funcmem.harness.local.votes import (
    container_of,
    measured_in,
    split_text,
    vote_arithmetic,
    vote_call,
    vote_comparison,
    vote_format,
    vote_instance,
    vote_membership,
)

__all__ = ["Uses", "read_uses"]

_SAME_KIND = frozenset(
    {
        "sorted",
        "list",
        "reversed",
        "tuple",
        "set",
        "str",
        "copy.deepcopy",
        "iter",
        "int",
        "float",
        "abs",
        "round",
    }
)
_MAX_CALL_DEPTH = 2
_MAX_STEPS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """What reading a function gave.

    Attributes:
        parameters: Evidence of each parameter by name.
        receiver: Evidence of the receiver; empty where there is none.
        related: Whether two given values are compared with each other, or one is looked up in the other.
    """

    parameters: dict[str, Evidence]
    receiver: Evidence
    related: bool


def read_uses(analysis: Analysis) -> Uses:
    """Read the function."""
    reader = _Reader(analysis)
    evidence = {parameter.name: Evidence(label=parameter.name) for parameter in analysis.parameters}
    receiver = Evidence(label=analysis.receiver or "")
    names = dict(evidence)
    if analysis.receiver is not None:
        names[analysis.receiver] = receiver
    reader.read(analysis.node, names, 0)
    return Uses(parameters=evidence, receiver=receiver, related=reader.related)


class _Reader:
    """One reading; ``names`` maps local names to evidence, ``literals`` to the literals they come from."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.names: dict[str, Evidence] = {}
        self.literals = LiteralRoots(analysis)
        self.call_depth = 0
        self.steps = 0
        self.related = False

    def read(self, node: FunctionNode, names: dict[str, Evidence], call_depth: int) -> None:
        saved = self.names, self.literals, self.call_depth
        self.names, self.literals, self.call_depth = names, LiteralRoots(self.analysis), call_depth
        try:
            self.block(node.body)
        finally:
            self.names, self.literals, self.call_depth = saved

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for target in targets:
                    self.bind(target, found, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value), value)
            case ast.AugAssign(target=target, op=op, value=value):
                left, right = self.value(target), self.value(value)
                vote_arithmetic(op, target, left, value, right)
            case ast.For(target=target, iter=iterated) | ast.AsyncFor(target=target, iter=iterated):
                self.loop(target, iterated)
                self.block(node.body)
                self.block(node.orelse)
            case ast.While(test=test) | ast.If(test=test):
                self.test(test)
                self.block(node.body)
                self.block(node.orelse)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    found = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, found, item.context_expr)
                self.block(body)
            case ast.Try():
                self.block(node.body)
                for handler in node.handlers:
                    self.block(handler.body)
                self.block(node.orelse)
                self.block(node.finalbody)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.block(node.body)
            case ast.Match(subject=subject, cases=cases):
                found = self.value(subject)
                for case in cases:
                    if found is not None:
                        found.known(literals_in([case.pattern]))
                    self.block(case.body)
            case ast.Assert(test=test):
                self.test(test)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)

    def bind(self, target: ast.expr, found: Evidence | None, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.names.pop(name, None)
                if found is not None:
                    self.names[name] = found
                self.literals.bind(name, value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
                    for part, piece in zip(parts, value.elts, strict=True):
                        self.bind(part, self.value(piece), piece)
                    return
                if found is not None and not any(isinstance(part, ast.Starred) for part in parts):
                    found.vote("tuple", 2)
                for place, part in enumerate(parts):
                    inner = found.at_place(place) if found is not None and found.depth < MAX_DEPTH else None
                    self.bind(part, inner, value)
            case ast.Starred(value=inner_target):
                self.bind(inner_target, None, value)
            case ast.Attribute() | ast.Subscript():
                base = self.value(target.value)
                if base is not None and isinstance(target, ast.Subscript):
                    self.subscript(base, target.slice, stored=True)

    def loop(self, target: ast.expr, iterated: ast.expr) -> None:
        match iterated:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if isinstance(target, ast.Tuple):
                found = self.value(inner)
                if len(target.elts) == 2:
                    self.bind(target.elts[1], self.iterate(found), inner)
            case ast.Call(func=ast.Name(id="zip"), args=parts) if isinstance(target, ast.Tuple):
                found_parts = [self.value(part) for part in parts]
                labels = [part.label for part in found_parts if part is not None and part.label]
                for index, (part, found) in enumerate(zip(parts, found_parts, strict=True)):
                    if found is not None and len(labels) > 1:
                        found.extent = found.extent or f"len({labels[0]})"
                    if index < len(target.elts):
                        self.bind(target.elts[index], self.iterate(found), part)
            case ast.Call(func=ast.Name(id="range"), args=arguments) if arguments:
                for argument in arguments:
                    bound = self.value(argument)
                    if bound is not None:
                        bound.vote("int")
                counter = Evidence(depth=1)
                counter.vote("int")
                counter.counts = self.range_symbol(arguments[1] if len(arguments) > 1 else arguments[0])
                self.bind(target, counter, None)
            case ast.Call(func=ast.Attribute(value=base, attr="items"), args=[]):
                found = self.value(base)
                if found is not None:
                    found.vote("dict")
                if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                    self.bind(target.elts[0], found.any_key() if found is not None else None, base)
                    self.bind(target.elts[1], found.any_element() if found is not None else None, base)
            case _:
                self.bind(target, self.iterate(self.value(iterated)), iterated)

    def range_symbol(self, bound: ast.expr) -> str | None:
        if isinstance(bound, ast.BinOp):
            bound = bound.left
        match bound:
            case ast.Name():
                found = self.value(bound)
                if found is None:
                    return None
                found.vote("int")
                found.vote("extent", 0)
                return found.label or found.counts
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                found = self.value(inner)
                if found is not None and found.label:
                    found.extent = found.extent or f"len({found.label})"
                    return found.extent
        return None

    def value(self, node: ast.expr | None) -> Evidence | None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            return None  # hostile nesting must not make this exponential
        match node:
            case None:
                return None
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(value=base, attr=name):
                found = self.value(base)
                if found is None or found.depth >= MAX_DEPTH:
                    return None
                if name in ATTRIBUTE_KINDS:
                    found.vote(*ATTRIBUTE_KINDS[name])
                found.vote("object", 1)
                return found.attribute(name)
            case ast.Subscript(value=base, slice=index):
                found = self.value(base)
                self.looked_up(base, index)
                return self.subscript(found, index) if found is not None else None
            case ast.Call():
                return self.call(node)
            case ast.Compare():
                self.compare(node)
                return None
            case ast.BinOp(left=left, op=op, right=right):
                return vote_arithmetic(op, left, self.value(left), right, self.value(right))
            case ast.BoolOp(op=op, values=values):
                found_all = [self.test(item) for item in values]
                return (
                    next((item for item in found_all if item is not None), None)
                    if isinstance(op, ast.Or)
                    else None
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
                return None
            case ast.UnaryOp(operand=operand):
                found = self.value(operand)
                if found is not None:
                    found.vote("number", 2)
                return found
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.test(test)
                first, second = self.value(body), self.value(orelse)
                return first or second
            case ast.NamedExpr(target=target, value=inner):
                found = self.value(inner)
                self.bind(target, found, inner)
                return found
            case ast.Await(value=inner) | ast.Starred(value=inner) | ast.YieldFrom(value=inner):
                found = self.value(inner)
                if isinstance(node, ast.YieldFrom | ast.Starred) and found is not None:
                    found.vote("list", 1)
                return found
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for part in node.generators:
                    self.loop(part.target, part.iter)
                    for condition in part.ifs:
                        self.test(condition)
                if isinstance(node, ast.DictComp):
                    self.value(node.key)
                    self.value(node.value)
                    return None
                inner_found = self.value(node.elt)
                if inner_found is None:
                    return None
                return container_of(inner_found)
            case ast.FormattedValue(value=inner, format_spec=spec):
                found = self.value(inner)
                if found is not None and isinstance(spec, ast.JoinedStr) and spec.values:
                    vote_format(found, spec.values[0])
                return None
            case ast.Lambda(body=body):
                self.value(body)
                return None
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                return None

    def test(self, node: ast.expr) -> Evidence | None:
        if (found := self.value(node)) is not None and isinstance(node, ast.Name | ast.Attribute):
            found.vote("bool", 1)
        return found

    def iterate(self, found: Evidence | None) -> Evidence | None:
        if found is None or found.depth >= MAX_DEPTH:
            return None
        found.vote("list", 2)
        return found.any_element()

    def subscript(self, found: Evidence, index: ast.expr, *, stored: bool = False) -> Evidence | None:
        if found.depth >= MAX_DEPTH:
            return None
        match index:
            case ast.Constant(value=str() as key):
                found.vote("dict")
                if stored:
                    return None
                return found.at_key(repr(key))
            case ast.Slice():
                found.vote("list", 1)
                found.vote("str", 1)
                for part in (index.lower, index.upper, index.step):
                    bound = self.value(part)
                    if bound is not None:
                        bound.vote("int")
                return found
            case _:
                if (text := constant_text(index)) is not None and text.lstrip("-").isdigit():
                    found.vote("list", 2)
                    found.lengths.setdefault(abs(int(text)) + 1)
                    return found.any_element()
                by = self.value(index)
                if by is not None and by.counts is None:
                    self.related = True
                if by is not None and by.counts is not None:
                    found.vote("list", 3)
                    found.extent = found.extent or by.counts
                elif by is not None and by.best() in ("int", "number"):
                    found.vote("list", 2)
                elif by is not None and by.best() == "str":
                    found.vote("dict", 2)
                else:
                    found.vote("list", 1)
                    found.vote("dict", 1)
                return found.any_element()

    def compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        found_sides = [self.value(side) for side in sides]
        for place, op in enumerate(node.ops):
            left, right = sides[place], sides[place + 1]
            left_found, right_found = found_sides[place], found_sides[place + 1]
            if left_found is not None and right_found is not None:
                self.related = True
            if isinstance(op, ast.In | ast.NotIn):
                if left_found is not None:
                    left_found.known(self.literals.members(right))
                    if isinstance(right, ast.Constant) and isinstance(right.value, str):
                        left_found.vote("str", 2)
                if right_found is not None:
                    vote_membership(right_found, constant_text(left))
                continue
            self.compare_pair(op, left, left_found, right)
            self.compare_pair(op, right, right_found, left)

    def compare_pair(self, op: ast.cmpop, side: ast.expr, found: Evidence | None, other: ast.expr) -> None:
        if found is None:
            if (measured := measured_in(side)) is not None:
                container = self.value(measured)
                text = constant_text(other)
                if container is not None and text is not None and text.isdigit():
                    container.lengths.setdefault(int(text))
            return
        text = constant_text(other)
        if text == "None":
            found.optional = True
            return
        texts = [text] if text is not None else list(self.literals.members(other, keys=False))
        vote_comparison(op, found, texts, exact=text is not None)

    def call(self, node: ast.Call) -> Evidence | None:
        for keyword in node.keywords:
            self.value(keyword.value)
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if base is not None:
                return self.method(base, node.func.attr, node)
            self.looked_up_by_method(node)
        name = dotted_name(node.func)
        arguments = [self.value(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            self.names[node.func.id].vote("callable")
            return None
        first = arguments[0] if arguments else None
        if name == "isinstance" and first is not None and len(node.args) == 2:
            vote_instance(self.analysis, first, node.args[1])
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and first is not None:
            first.vote("list", 2)
            first.any_element().vote("str")
            return None
        vote_call(name, node, arguments)
        self.helper(name, node, arguments)
        if name in ("min", "max"):
            return first if len(arguments) > 1 else self.iterate(first)
        if name in _SAME_KIND:
            return first
        return None

    def method(self, base: Evidence, name: str, node: ast.Call) -> Evidence | None:
        arguments = [self.value(argument) for argument in node.args]
        if name in METHOD_KINDS:
            base.vote(*METHOD_KINDS[name])
        if base.depth >= MAX_DEPTH:
            return None
        texts = [text for argument in node.args if (text := constant_text(argument)) is not None]
        match name:
            case "get" | "setdefault" | "pop" if node.args and texts and texts[0][0] in "'\"":
                base.vote("dict", 3)
                return base.at_key(texts[0])
            case "get" | "setdefault" if node.args:
                return base.any_element()
            case "items":
                return None
            case "values":
                return container_of(base.any_element())
            case "keys":
                return container_of(base.any_key())
            case "split" | "rsplit" | "partition" | "rpartition" | "splitlines":
                return split_text(base, name, texts)
            case "startswith" | "endswith":
                for argument in node.args[:1]:
                    for text in texts or self.literals.members(argument, keys=False):
                        base.formats.setdefault(("prefix" if name == "startswith" else "suffix", text))
                return None
            case "find" | "count" | "index" | "rfind" if texts and texts[0][0] in "'\"":
                base.formats.setdefault(("contains", texts[0]))
                return None
            case "replace" if len(texts) == 2:
                base.formats.setdefault(("contains", texts[0]))
                return base
            case "append" | "add" | "insert" | "extend":
                return None
            case _ if name in TEXT_KEEPERS:
                return base
            case _ if name in METHOD_KINDS:
                return None
            case _:
                base.vote("object", 2)
                for found in arguments:
                    if found is not None and base.label and base.label == self.analysis.receiver:
                        self.own_method(name, node, arguments)
                        break
                return None

    def own_method(self, name: str, node: ast.Call, arguments: list[Evidence | None]) -> None:
        owner = self.analysis.owner
        for item in owner.body if owner is not None else ():
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == name:
                self.descend(item, arguments, skip=1)

    def helper(self, name: str, node: ast.Call, arguments: list[Evidence | None]) -> None:
        definition = self.analysis.definitions.get(name)
        if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            self.descend(definition, arguments, skip=0)

    def descend(self, callee: FunctionNode, arguments: list[Evidence | None], *, skip: int) -> None:
        """Read a helper of the file: what it does with an argument tells what the argument is."""
        if self.call_depth >= _MAX_CALL_DEPTH or not any(found is not None for found in arguments):
            return
        parameters = [*callee.args.posonlyargs, *callee.args.args][skip:]
        names: dict[str, Evidence] = {}
        for parameter, found in zip(parameters, arguments, strict=False):
            if found is not None:
                names[parameter.arg] = found
                if parameter.annotation is not None:
                    kind = TYPE_KINDS.get(dotted_name(parameter.annotation))
                    if kind is not None:
                        found.vote(kind, 3)
        self.read(callee, names, self.call_depth + 1)

    def looked_up(self, base: ast.expr, index: ast.expr) -> None:
        by = self.value(index)
        if by is not None and any(isinstance(root, ast.Dict) for root in self.literals.roots(base)):
            by.known(self.literals.members(base))

    def looked_up_by_method(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "index") and node.args:
            self.looked_up(node.func.value, node.args[0])
