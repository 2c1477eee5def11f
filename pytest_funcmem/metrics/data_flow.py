"""The data flow of a function: which token takes its value from which, as CodeBLEU compares it.

After Ren et al. (2020), section 3.3, with the rules that they published (``flow_rules``): a walk over the
syntax tree keeps, for each name, the tokens that may have set it last; loops are walked twice; after a
condition a name may come from any branch. What comes out is the same for any hash seed: sources stand in the
order in which the walk meets them.

The walk goes down only where data moves, so a chain of a thousand operators is no deeper than one. Nested
loops double the work at each level; beyond ``WORK_LIMIT`` there is no data flow, and the caller says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_funcmem.metrics.flat_tree import FlatTree
from pytest_funcmem.metrics.flow_rules import Branch, Flow, FlowRules, Loop

__all__ = ["DEPTH_LIMIT", "WORK_LIMIT", "DataFlow", "TooMuchFlowError", "data_flow"]

WORK_LIMIT = 500_000
"""Steps of one walk: tokens visited, and names and sources copied."""

DEPTH_LIMIT = 150
"""Assignments, conditions and loops inside one another."""

DataFlow = tuple[str, str, tuple[str, ...]]
"""What is set, how (``comesFrom`` or ``computedFrom``), and from what; variables are numbered, not named."""


class TooMuchFlowError(Exception):
    """A text would need more steps or levels than the limits allow."""


@dataclass(slots=True)
class _Edge:
    token: int
    relation: str
    names: list[str]
    sources: list[int]


State = dict[str, tuple[int, ...]]


def data_flow(
    tree: FlatTree, rules: FlowRules, *, dropped: frozenset[int], show_constants: bool
) -> list[DataFlow]:
    """Extract the data flow of a parsed text.

    Args:
        tree: The parsed text.
        rules: How data moves in its language.
        dropped: Nodes that do not count: comments and docstrings.
        show_constants: Whether constants keep their text. As published they are numbered like variables, so
            that ``rate = 0.05`` and ``rate = 0.07`` are the same flow.

    Raises:
        TooMuchFlowError: The text would need more than ``WORK_LIMIT`` steps or ``DEPTH_LIMIT`` levels.
    """
    walk = _Walk(tree, rules, dropped, show_constants=show_constants)
    walk.visit(0)
    return _numbered(_merged(walk.edges), walk.names, walk.constants if show_constants else set())


class _Walk:
    def __init__(
        self, tree: FlatTree, rules: FlowRules, dropped: frozenset[int], *, show_constants: bool
    ) -> None:
        self.show_constants = show_constants
        self.tree = tree
        self.rules = rules
        self.dropped = dropped
        self.edges: list[_Edge] = []
        self.names: dict[int, str] = {}
        self.constants: set[int] = set()
        self.state: State = {}
        self._steps: dict[int, list[int]] = {}
        self._tokens: dict[int, list[int]] = {}
        self._work = 0
        self._depth = 0
        self._moving = {*rules.flows, *rules.updates, *rules.branches, *rules.loops}

    # ----------------------------------------------------------------------------------- reading the tree

    def _is_token(self, node: int) -> bool:
        children = self.tree.children[node]
        if not children:
            return True
        if self.tree.kinds[node] not in self.rules.strings:
            return False
        # A string is one token. The code that may stand in one is no constant.
        return not self.show_constants or all(self.tree.kinds[child] != "interpolation" for child in children)

    def _below(self, node: int, *, stop_at_moving: bool) -> list[int]:
        """Tokens below a node in order; with ``stop_at_moving`` the nodes that move data stand for theirs."""
        kinds, children = self.tree.kinds, self.tree.children
        found: list[int] = []
        stack = [node]
        while stack:
            current = stack.pop()
            if current in self.dropped:
                continue
            if self._is_token(current):
                if self._name(current):
                    found.append(current)
            elif stop_at_moving and kinds[current] in self._moving:
                found.append(current)
            else:
                below = children[current]
                if stop_at_moving and self.rules.first:
                    first = self.rules.first
                    below = [child for child in below if kinds[child] in first] + [
                        child for child in below if kinds[child] not in first
                    ]
                stack.extend(reversed(below))
        return found

    def _name(self, node: int) -> str:
        """Text of a token that may hold data; "" for keywords and punctuation, whose kind is their text."""
        name = self.names.get(node)
        if name is None:
            kind = self.tree.kinds[node]
            name = self.tree.text(node)
            if name == kind:
                name = ""
            elif kind in self.rules.constants:
                self.constants.add(node)
            self.names[node] = name
        return name

    def _part(self, node: int, name: str) -> list[int]:
        """Children of a node by field; "last" is the last child that counts."""
        children = [child for child in self.tree.children[node] if child not in self.dropped]
        if name == "last":
            return children[-1:]
        return [child for child in children if self.tree.fields[child] == name]

    # -------------------------------------------------------------------------------------------- walking

    def _spend(self, steps: int) -> None:
        self._work += steps
        if self._work > WORK_LIMIT:
            raise TooMuchFlowError

    def visit(self, node: int) -> None:
        """Walk a subtree, from the state as it is."""
        kind = self.tree.kinds[node]
        if kind in self._moving and not self._is_token(node):
            self._move(node, kind)
            return
        steps = self._steps.get(node)
        if steps is None:
            steps = self._steps[node] = self._below(node, stop_at_moving=True)
        self._spend(len(steps) + 1)
        for step in steps:
            if self._is_token(step):
                self._use(step)
            else:
                self._move(step, self.tree.kinds[step])

    def _use(self, token: int) -> None:
        name = self.names[token]
        known = self.state.get(name)
        if known is not None:
            self._spend(len(known))
            self.edges.append(_Edge(token, "comesFrom", [name], list(known)))
            return
        if self.tree.kinds[token] == "identifier":
            self.state[name] = (token,)
        self.edges.append(_Edge(token, "comesFrom", [], []))

    def _move(self, node: int, kind: str) -> None:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise TooMuchFlowError
        rules = self.rules
        if kind in rules.flows:
            self._flow(node, rules.flows[kind])
        elif kind in rules.updates:
            tokens = self._variables([node])
            self._assign(tokens, tokens, "computedFrom", together=False)
        elif kind in rules.branches:
            self._branch(node, rules.branches[kind])
        else:
            start = len(self.edges)
            self._loop(node, rules.loops[kind])
            self.edges[start:] = _merged_turns(self.edges[start:])
        self._depth -= 1

    def _variables(self, nodes: Sequence[int]) -> list[int]:
        found: list[int] = []
        for node in nodes:
            tokens = self._tokens.get(node)
            if tokens is None:
                tokens = self._tokens[node] = self._below(node, stop_at_moving=False)
            self._spend(len(tokens))
            found += tokens
        return found

    def _flow(self, node: int, flow: Flow) -> None:
        left, right = self._part(node, flow.left), self._part(node, flow.right)
        if not right:
            if flow.without_source == "defines":
                for token in self._variables(left):
                    self.edges.append(_Edge(token, "comesFrom", [], []))
                    self.state[self.names[token]] = (token,)
            return
        pairs = list(self._pairs(left, right, flow))
        for _, source in pairs:
            for part in source:
                self.visit(part)
        for targets, source in pairs:
            self._assign(
                self._variables(targets), self._variables(source), flow.relation, together=flow.pairwise
            )

    def _pairs(self, left: list[int], right: list[int], flow: Flow) -> Iterator[tuple[list[int], list[int]]]:
        """Which part takes its value from which: item by item where both sides are lists of one length."""
        if flow.pairwise and flow.right != "last" and left and right:
            lefts, rights = self._items(left[0]), self._items(right[0])
            if lefts and len(lefts) == len(rights):
                for target, source in zip(lefts, rights, strict=True):
                    yield [target], [source]
                return
        yield left, right

    def _items(self, node: int) -> list[int]:
        kinds = self.tree.kinds
        return [
            child for child in self.tree.children[node] if kinds[child] != "," and child not in self.dropped
        ]

    def _assign(
        self, targets: Sequence[int], sources: Sequence[int], relation: str, *, together: bool
    ) -> None:
        self._spend(len(targets) * (len(sources) + 1))
        names = [self.names[source] for source in sources]
        for target in targets:
            if together:
                self.edges.append(_Edge(target, relation, list(names), list(sources)))
            else:
                self.edges.extend(
                    _Edge(target, relation, [name], [source])
                    for name, source in zip(names, sources, strict=True)
                )
            self.state[self.names[target]] = (target,)

    def _branch(self, node: int, branch: Branch) -> None:
        before = self.state
        current = dict(before)
        ends: list[State] = []
        covered = branching = False
        for child in self.tree.children[node]:
            if child in self.dropped:
                continue
            kind = self.tree.kinds[child]
            covered = covered or kind in branch.else_kinds
            starts = kind in branch.starts
            branching = branching or (branch.rest and starts)
            self._spend(len(before))
            if starts or branching:
                self.state = dict(before)
                self.visit(child)
                ends.append(self.state)
            else:
                self.state = current
                self.visit(child)
                current = self.state
        ends.append(current)
        if not covered:
            ends.append(before)
        joined: dict[str, set[int]] = {}
        for end in ends:
            for name, tokens in end.items():
                self._spend(len(tokens))
                joined.setdefault(name, set()).update(tokens)
        self.state = {name: tuple(sorted(tokens)) for name, tokens in joined.items()}

    def _loop(self, node: int, loop: Loop) -> None:
        children = [child for child in self.tree.children[node] if child not in self.dropped]
        if loop.flow is not None:
            body = self._part(node, loop.body)
            if loop.body == "last" and self.tree.kinds[body[0]] != "block":
                body = []
            for _ in range(2):
                self._flow(node, loop.flow)
                for part in body:
                    self.visit(part)
            return
        for child in [*children, *self._second_turn(node, loop, children)]:
            self.visit(child)

    def _second_turn(self, node: int, loop: Loop, children: list[int]) -> list[int]:
        if loop.second:
            return [part for name in loop.second for part in self._part(node, name)]
        places = [place for place, child in enumerate(children) if self.tree.kinds[child] == loop.after]
        if not places:
            return [] if loop.required else children
        again = self._part(children[places[0]], loop.again) if loop.again else []
        return again + children[places[0] + 1 :]


# ------------------------------------------------------------------------------------------- joining edges


def _merged_turns(edges: list[_Edge]) -> list[_Edge]:
    """The two turns of a loop as one: edges of one token and one relation joined."""
    merged: dict[tuple[int, str], _Edge] = {}
    repeated: dict[tuple[int, str], bool] = {}
    for edge in edges:
        key = (edge.token, edge.relation)
        if key not in merged:
            merged[key] = edge
            continue
        merged[key].names += edge.names
        merged[key].sources += edge.sources
        repeated[key] = True
    for key in repeated:
        merged[key].names = list(dict.fromkeys(merged[key].names))
        merged[key].sources = sorted(set(merged[key].sources))
    return list(merged.values())


def _merged(edges: list[_Edge]) -> list[_Edge]:
    """One edge for each token that has a source or is one, in the order of the text."""
    used: set[int] = set()
    for edge in edges:
        if edge.sources:
            used.add(edge.token)
            used.update(edge.sources)
    merged: dict[int, _Edge] = {}
    for edge in sorted((edge for edge in edges if edge.token in used), key=lambda edge: edge.token):
        known = merged.get(edge.token)
        if known is None:
            merged[edge.token] = _Edge(edge.token, edge.relation, list(edge.names), [])
        else:
            known.names = list(dict.fromkeys(known.names + edge.names))
    return list(merged.values())


def _numbered(edges: Sequence[_Edge], names: dict[int, str], constants: set[int]) -> list[DataFlow]:
    """Edges with variables numbered in the order of their first use, so that renaming changes nothing."""
    literal = {names[token] for token in constants}
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        if name in literal:
            return "constant " + name.strip("\"'`")  # which quotes it has is no part of its value
        return numbers.setdefault(name, f"var_{len(numbers)}")

    flows = []
    for edge in edges:
        sources = tuple([number(name) for name in edge.names])
        flows.append((number(names[edge.token]), edge.relation, sources))
    return flows
