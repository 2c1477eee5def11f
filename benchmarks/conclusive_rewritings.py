"""Rewritings of a Python function that do not change what it does, made with libcst.

Used by ``conclusive.py``: what behaves the same has to score the same. A rewriting is left out where it could
change behaviour (names that the function looks up itself, nested scopes, values that are read again).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst
from libcst import matchers as m

from pytest_funcmem.core.records import SourceFunction

__all__ = ["REWRITINGS", "rewritten"]


def rewritten(function: SourceFunction) -> dict[str, str]:
    """Rewritings by name, each as signature and body; those that change nothing are left out."""
    line_start = function.text.rfind("\n", 0, function.signature_start) + 1
    indent = function.text[line_start : function.signature_start]
    lines = function.code.split("\n")
    if indent and any(line.strip() and not line.startswith(indent) for line in lines[1:]):
        return {}
    dedented = "\n".join([lines[0], *(line[len(indent) :] for line in lines[1:])]) + "\n"
    try:
        tree = cst.parse_module(dedented)
    except cst.ParserSyntaxError:
        return {}
    if _looks_at_itself(tree):
        return {}
    found: dict[str, str] = {}
    together = tree
    for name, rewrite in REWRITINGS.items():
        changed = rewrite(tree)
        together = rewrite(together)
        for kind, result in ((name, changed), ("all together", together)):
            text = result.code.rstrip("\n")
            if not result.deep_equals(tree):
                out = text.split("\n")
                found[kind] = "\n".join(
                    [out[0], *(indent + line if line.strip() else line for line in out[1:])]
                )
    return found


def _looks_at_itself(tree: cst.Module) -> bool:
    names = m.Name("locals") | m.Name("vars") | m.Name("eval") | m.Name("exec") | m.Name("__doc__")
    return bool(m.findall(tree, names | m.Nonlocal() | m.Global() | m.Match()))


def _body(tree: cst.Module) -> Sequence[cst.BaseStatement]:
    function = tree.body[0]
    return function.body.body if isinstance(function, cst.FunctionDef) else ()  # type: ignore[return-value]


def _has_scopes(tree: cst.Module) -> bool:
    inner = m.findall(tree, m.FunctionDef() | m.Lambda() | m.ClassDef() | m.CompFor())
    return len(inner) > 1


# ----------------------------------------------------------------------------------------------- names


def renamed(tree: cst.Module) -> cst.Module:
    """Other names for local variables."""
    if _has_scopes(tree) or not isinstance(tree.body[0], cst.FunctionDef):
        return tree
    function = tree.body[0]
    kept = {
        name.value for param in m.findall(function.params, m.Param()) for name in m.findall(param, m.Name())
    }
    for alias in m.findall(tree, m.ImportAlias()):
        kept |= {name.value for name in m.findall(alias, m.Name())}
    bound: dict[str, None] = {}
    targets = [*m.findall(tree, m.AssignTarget()), *m.findall(tree, m.For()), *m.findall(tree, m.AsName())]
    targets += m.findall(tree, m.AugAssign())
    for target in targets:
        place = getattr(target, "target", None) or getattr(target, "name", None)
        for name in [place] if isinstance(place, cst.Name) else getattr(place, "elements", ()):
            inner = name.value if isinstance(name, cst.Element) else name
            if isinstance(inner, cst.Name) and inner.value not in kept and not inner.value.startswith("__"):
                bound.setdefault(inner.value)
    names = {name: f"{name}_again" for name in bound}

    class Renaming(cst.CSTTransformer):
        def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802
            return False

        def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:  # noqa: N802
            return updated_node.with_changes(value=updated_node.value.visit(self))

        def visit_Arg_keyword(self, node: cst.Arg) -> None:  # noqa: N802
            return None

        def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:  # noqa: N802
            return updated_node.with_changes(keyword=original_node.keyword)

        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:  # noqa: N802
            return updated_node.with_changes(value=names.get(updated_node.value, updated_node.value))

    block = function.body.visit(Renaming())
    return tree.with_changes(body=[function.with_changes(body=block), *tree.body[1:]])


# ------------------------------------------------------------------------------------------- conditions


class _Turning(cst.CSTTransformer):
    """``if a: x else: y`` as ``if not (a): y else: x``."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:  # noqa: N802
        if not isinstance(updated_node.orelse, cst.Else) or not isinstance(
            updated_node.body, cst.IndentedBlock
        ):
            return updated_node
        if not isinstance(updated_node.orelse.body, cst.IndentedBlock):
            return updated_node
        test = updated_node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return updated_node.with_changes(
            test=cst.UnaryOperation(operator=cst.Not(), expression=test),
            whitespace_before_test=cst.SimpleWhitespace(" "),
            body=updated_node.orelse.body,
            orelse=updated_node.orelse.with_changes(body=updated_node.body),
        )


class _Flattening(cst.CSTTransformer):
    """``if a: return x else: y`` as ``if a: return x`` and then ``y``."""

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        for statement in updated_node.body:
            if (
                isinstance(statement, cst.If)
                and isinstance(statement.orelse, cst.Else)
                and isinstance(statement.orelse.body, cst.IndentedBlock)
                and isinstance(statement.body, cst.IndentedBlock)
                and _leaves(statement.body)
            ):
                body.append(statement.with_changes(orelse=None))
                body.extend(statement.orelse.body.body)
            else:
                body.append(statement)
        return updated_node.with_changes(body=body)


def _leaves(block: cst.IndentedBlock) -> bool:
    last = block.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return | cst.Raise)


# ------------------------------------------------------------------------------------------ temporaries


class _Naming(cst.CSTTransformer):
    """``return a + b`` as ``outcome = a + b`` and then ``return outcome``."""

    def visit_Lambda(self, node: cst.Lambda) -> bool:  # noqa: N802
        return False

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        if len(updated_node.body) != 1 or not isinstance(updated_node.body[0], cst.Return):
            return updated_node
        value = updated_node.body[0].value
        if value is None or isinstance(value, cst.Name | cst.Tuple | cst.SimpleString | cst.Integer):
            return updated_node
        name = cst.Name("outcome_of_all")
        assign = cst.Assign(targets=[cst.AssignTarget(target=name)], value=value)
        first = updated_node.with_changes(body=[assign])
        second = cst.SimpleStatementLine(body=[cst.Return(value=name)])
        return cst.FlattenSentinel([first, second])


# ------------------------------------------------------------------------------- comprehensions and loops


def unrolled(tree: cst.Module) -> cst.Module:
    """``x = [e for t in i if c]`` as a loop."""
    used = [name.value for name in m.findall(tree, m.Name())]

    class Unrolling(cst.CSTTransformer):
        def leave_SimpleStatementLine(  # noqa: N802
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
            if not m.matches(
                updated_node,
                m.SimpleStatementLine(
                    body=[m.Assign(targets=[m.AssignTarget(target=m.Name())], value=m.ListComp())]
                ),
            ):
                return updated_node
            assign = cst.ensure_type(updated_node.body[0], cst.Assign)
            name = cst.ensure_type(assign.targets[0].target, cst.Name)
            found = cst.ensure_type(assign.value, cst.ListComp)
            loop = found.for_in
            own = {item.value for item in m.findall(loop.target, m.Name())}
            inside = [item.value for item in m.findall(found, m.Name())]
            if loop.inner_for_in is not None or loop.asynchronous is not None or name.value in inside:
                return updated_node
            if any(used.count(item) > inside.count(item) for item in own):
                return updated_node  # the loop's variable would be seen outside
            append = cst.parse_statement(f"{name.value}.append(0)")
            call = cst.ensure_type(cst.ensure_type(append, cst.SimpleStatementLine).body[0], cst.Expr)
            value = cst.ensure_type(call.value, cst.Call).with_changes(args=[cst.Arg(value=found.elt)])
            body: cst.BaseStatement = cst.SimpleStatementLine(body=[cst.Expr(value=value)])
            for condition in reversed(loop.ifs):
                body = cst.If(test=condition.test, body=cst.IndentedBlock(body=[body]))
            first = updated_node.with_changes(body=[assign.with_changes(value=cst.List(elements=[]))])
            second = cst.For(target=loop.target, iter=loop.iter, body=cst.IndentedBlock(body=[body]))
            return cst.FlattenSentinel([first, second])

    return tree.visit(Unrolling())


def rolled(tree: cst.Module) -> cst.Module:
    """``x = []`` and a loop that does nothing but append, as a comprehension."""
    used = [name.value for name in m.findall(tree, m.Name())]

    class Rolling(cst.CSTTransformer):
        def leave_IndentedBlock(  # noqa: N802
            self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
        ) -> cst.IndentedBlock:
            body = list(updated_node.body)
            for place in range(len(body) - 1):
                made = _comprehension(body[place], body[place + 1], used)
                if made is not None:
                    return updated_node.with_changes(body=[*body[:place], made, *body[place + 2 :]])
            return updated_node

    return tree.visit(Rolling())


def _comprehension(
    first: cst.BaseStatement, second: cst.BaseStatement, used: list[str]
) -> cst.BaseStatement | None:
    start = m.SimpleStatementLine(
        body=[m.Assign(targets=[m.AssignTarget(target=m.Name())], value=m.List(elements=[]))]
    )
    append = m.SimpleStatementLine(
        body=[
            m.Expr(
                value=m.Call(func=m.Attribute(value=m.Name(), attr=m.Name("append")), args=[m.Arg(star="")])
            )
        ]
    )
    loop = m.For(body=m.IndentedBlock(body=[append]), orelse=None, asynchronous=None)
    if not m.matches(first, start) or not m.matches(second, loop):
        return None
    assign = cst.ensure_type(cst.ensure_type(first, cst.SimpleStatementLine).body[0], cst.Assign)
    name = cst.ensure_type(assign.targets[0].target, cst.Name).value
    found = cst.ensure_type(second, cst.For)
    line = cst.ensure_type(cst.ensure_type(found.body, cst.IndentedBlock).body[0], cst.SimpleStatementLine)
    call = cst.ensure_type(cst.ensure_type(line.body[0], cst.Expr).value, cst.Call)
    if cst.ensure_type(cst.ensure_type(call.func, cst.Attribute).value, cst.Name).value != name:
        return None
    element = call.args[0].value
    inside = [item.value for item in m.findall(found, m.Name())]
    own = {item.value for item in m.findall(found.target, m.Name())}
    if inside.count(name) > 1 or any(used.count(item) > inside.count(item) for item in own):
        return None
    if m.findall(found, m.Await() | m.Yield()):
        return None
    made = cst.ListComp(elt=element, for_in=cst.CompFor(target=found.target, iter=found.iter))
    return cst.ensure_type(first, cst.SimpleStatementLine).with_changes(
        body=[assign.with_changes(value=made)]
    )


REWRITINGS: Mapping[str, Callable[[cst.Module], cst.Module]] = {
    "names": renamed,
    "conditions turned": lambda tree: tree.visit(_Turning()),
    "early returns": lambda tree: tree.visit(_Flattening()),
    "temporaries": lambda tree: tree.visit(_Naming()),
    "comprehensions unrolled": unrolled,
    "loops rolled": rolled,
}
