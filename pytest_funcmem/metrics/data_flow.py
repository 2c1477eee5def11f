"""The data flow of a function: which token takes its value from which, as CodeBLEU compares it.

After Ren et al. (2020), section 3.3, with the rules that they published (``flow_rules``): a walk over the
syntax tree keeps, for each name, the tokens that may have set it last; loops are walked twice; after a
condition a name may come from any branch. What comes out is the same for any hash seed: sources stand in the
order in which the walk meets them.

The walk goes down only where data moves, so a chain of a thousand operators is no deeper than one. Nested
loops double the work at each level; beyond ``WORK_LIMIT`` there is no data flow, and the caller says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

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


_Edge = tuple[int, str, tuple[str, ...], tuple[int, ...]]
"""A token, how it is set, and the names and the tokens that it takes its value from."""

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
        self.tree = tree
        self.rules = rules
        self.dropped = dropped
        self.edges: list[_Edge] = []
        self.names: dict[int, str] = {}
        self.constants: set[int] = set()
        self.state: State = {}
        self._steps: dict[int, list[int]] = {}
        self._work = 0
        self._depth = 0
        self._moving = {*rules.flows, *rules.updates, *rules.branches, *rules.loops}
        self._reorders = bool(rules.first.intersection(tree.kinds))
        self._tokens = self._find_tokens(show_constants=show_constants)

    # ----------------------------------------------------------------------------------- reading the tree

    def _find_tokens(self, *, show_constants: bool) -> list[int]:
        """Tokens that may hold data, in order; those whose kind is their text, as keywords', do not."""
        tree, rules, names = self.tree, self.rules, self.names
        kinds, children, afters, named = tree.kinds, tree.children, tree.afters, tree.named
        dropped = self.dropped
        tokens = []
        node, end = 0, len(kinds)
        while node < end:
            if node in dropped:
                node = afters[node]
                continue
            kind = kinds[node]
            below = children[node]
            # A string is one token. Code that may stand in one is no constant.
            if below and (
                kind not in rules.strings
                or (show_constants and any(kinds[child] == "interpolation" for child in below))
            ):
                node += 1
                continue
            # The kind of a node without a name is its text.
            name = tree.text(node) if named[node] else ""
            if name and name != kind:
                tokens.append(node)
                names[node] = name
                if kind in rules.constants:
                    self.constants.add(node)
            node = afters[node]
        return tokens

    def _variables(self, nodes: Sequence[int]) -> list[int]:
        """Tokens below nodes, in the order of the text."""
        found: list[int] = []
        for node in nodes:
            start = bisect_left(self._tokens, node)
            found += self._tokens[start : bisect_left(self._tokens, self.tree.afters[node], start)]
        self._spend(len(found))
        return found

    def _steps_below(self, node: int) -> list[int]:
        """What a walk meets below a node: tokens, and nodes that move data in place of theirs."""
        if self._reorders:
            return self._reordered_steps(node)
        kinds, afters, names, moving = self.tree.kinds, self.tree.afters, self.names, self._moving
        found: list[int] = []
        current, end = node, afters[node]
        while current < end:
            if current in names:
                found.append(current)
            elif current in self.dropped:
                pass
            elif kinds[current] in moving and self.tree.children[current]:
                found.append(current)
            else:
                current += 1
                continue
            current = afters[current]
        return found

    def _reordered_steps(self, node: int) -> list[int]:
        """The same where some kinds come before their siblings."""
        kinds, children, first = self.tree.kinds, self.tree.children, self.rules.first
        found: list[int] = []
        stack = [node]
        while stack:
            current = stack.pop()
            if current in self.names:
                found.append(current)
            elif current in self.dropped:
                continue
            elif kinds[current] in self._moving and children[current]:
                found.append(current)
            else:
                below = children[current]
                ahead = [child for child in below if kinds[child] in first]
                stack.extend(reversed([child for child in below if kinds[child] not in first]))
                stack.extend(reversed(ahead))
        return found

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
        if kind in self._moving and node not in self.names and self.tree.children[node]:
            self._move(node, kind)
            return
        steps = self._steps.get(node)
        if steps is None:
            steps = self._steps[node] = self._steps_below(node)
        self._spend(len(steps) + 1)
        for step in steps:
            if step in self.names:
                self._use(step)
            else:
                self._move(step, self.tree.kinds[step])

    def _use(self, token: int) -> None:
        name = self.names[token]
        known = self.state.get(name)
        if known is not None:
            self._work += len(known)
            self.edges.append((token, "comesFrom", (name,), known))
            return
        if self.tree.kinds[token] == "identifier":
            self.state[name] = (token,)
        self.edges.append((token, "comesFrom", (), ()))

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

    def _flow(self, node: int, flow: Flow) -> None:
        left, right = self._part(node, flow.left), self._part(node, flow.right)
        if not right:
            if flow.without_source == "defines":
                for token in self._variables(left):
                    self.edges.append((token, "comesFrom", (), ()))
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
        names = tuple([self.names[source] for source in sources])
        for target in targets:
            if together:
                self.edges.append((target, relation, names, tuple(sources)))
            else:
                self.edges.extend(
                    (target, relation, (name,), (source,))
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
        self.state = joined = dict(ends[0])
        for end in ends[1:]:
            self._spend(len(end))
            for name, tokens in end.items():
                known = joined.setdefault(name, tokens)
                if known is not tokens and known != tokens:
                    self._spend(len(known) + len(tokens))
                    joined[name] = tuple(sorted({*known, *tokens}))

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
    repeated: dict[tuple[int, str], None] = {}
    for edge in edges:
        token, relation, names, sources = edge
        key = (token, relation)
        known = merged.get(key)
        if known is None:
            merged[key] = edge
        elif known[2] != names or known[3] != sources:
            merged[key] = (*key, known[2] + names, known[3] + sources)
            repeated[key] = None
        elif len(names) > 1:
            repeated[key] = None
    for key in repeated:
        _, _, names, sources = merged[key]
        merged[key] = (*key, tuple(dict.fromkeys(names)), tuple(dict.fromkeys(sources)))
    return list(merged.values())


def _merged(edges: list[_Edge]) -> list[_Edge]:
    """One edge for each token that has a source or is one, in the order of the text."""
    used: set[int] = set()
    for token, _, _, sources in edges:
        if sources:
            used.add(token)
            used.update(sources)
    merged: dict[int, _Edge] = {}
    for edge in edges:
        token, _, names, _ = edge
        if token not in used:
            continue
        known = merged.get(token)
        if known is None:
            merged[token] = edge
        elif len(names) > 1 or known[2] != names:
            merged[token] = (token, known[1], tuple(dict.fromkeys(known[2] + names)), ())
    return [merged[token] for token in sorted(merged)]


def _numbered(edges: Sequence[_Edge], names: dict[int, str], constants: set[int]) -> list[DataFlow]:
    """Edges with variables numbered in the order of their first use, so that renaming changes nothing."""
    # A constant is its text, whichever quotes it has.
    numbers = {name: "constant " + name.strip("\"'`") for name in {names[token]: None for token in constants}}
    fresh = len(numbers)
    flows = []
    for token, relation, sources, _ in edges:
        target = names[token]
        for name in (*sources, target):
            if name not in numbers:
                numbers[name] = f"var_{len(numbers) - fresh}"
        flows.append((numbers[target], relation, tuple([numbers[name] for name in sources])))
    return flows
