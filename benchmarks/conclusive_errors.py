"""How often execution calls like what is unlike, and unlike what is like, on harnesses that are there.

Used by ``conclusive.py``. Every stand-in here is one that the harness's own proofs did not use.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conclusive_mutants import MUTANTS, PROVED_MUTANTS, different, fresh_mutants
from conclusive_rewritings import rewritten

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, SourceFunction
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.local.analysis import Analysis, FunctionNode, UnreadableFunctionError, analyse
from pytest_funcmem.harness.local.rewriting import UnwritableCodeError, code_with_body
from pytest_funcmem.harness.local.stubs import make_stubs
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.harness.python_runs import Run, run_together
from pytest_funcmem.metrics.text import bleu

STRANGERS = 3
SIBLINGS = 3

__all__ = ["KINDS", "MUTANTS", "PROVED_MUTANTS", "SIBLINGS", "STRANGERS", "Errors", "measure"]

KINDS = ("equivalent", "strangers", "siblings", "stubs", "mutants")


@dataclass(slots=True, kw_only=True)
class Errors:
    """Scores by kind of stand-in.

    Attributes:
        scores: SIM_func of every stand-in.
        bleu: Textual similarity of the equivalent ones.
        worst: What was flagged against expectation, for people.
    """

    scores: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    bleu: list[float] = field(default_factory=list)
    worst: list[str] = field(default_factory=list)

    def add(self, other: Errors) -> None:
        """Take in the scores of another function."""
        for kind, scores in other.scores.items():
            self.scores[kind] += scores
        self.bleu += other.bleu
        self.worst += other.worst

    def told_apart(self, kind: str) -> tuple[int, int]:
        """How many some state of the harness tells apart from the original, and of how many."""
        return sum(score < 1.0 for score in self.scores[kind]), len(self.scores[kind])

    def flagged(self, kind: str, tau: float) -> tuple[int, int]:
        """How many score at least the threshold, and of how many."""
        return sum(score >= tau for score in self.scores[kind]), len(self.scores[kind])


def measure(
    function: SourceFunction,
    harness: Harness,
    others: Sequence[SourceFunction],
    sandbox: Sandbox,
    *,
    seed: int,
    tau: float,
    kinds: Collection[str],
) -> Errors:
    """Score the stand-ins of one function.

    A mutant counts only where it is known not to be equivalent: a state of the harness tells it apart, or one
    that a long random search finds.
    """
    errors = Errors()
    generator = random.Random(int(digest([seed, function.key])[:15], 16))
    analysis = analyse(function)
    stand_ins: dict[str, Mapping[str, str]] = {
        "equivalent": rewritten(function),
        "strangers": dict(_strangers(analysis, others, generator)),
        "siblings": dict(_siblings(analysis, generator)),
        "stubs": _stubs(analysis, harness),
        "mutants": fresh_mutants(analysis, generator),
    }
    stand_ins = {kind: codes for kind, codes in stand_ins.items() if kind in kinds}
    scores = _scores(function, harness, stand_ins, sandbox)
    alike = {
        name: code for name, code in stand_ins.get("mutants", {}).items() if scores["mutants", name] == 1.0
    }
    unlike = different(analysis, harness, alike, sandbox, seed=seed)
    for (kind, name), score in scores.items():
        if kind == "mutants" and name in alike and name not in unlike:
            continue
        errors.scores[kind].append(score)
        if kind == "equivalent":
            code = stand_ins[kind][name]
            errors.bleu.append(bleu(function.body, code[len(function.signature) :]))
        if (score >= tau) != (kind == "equivalent") and kind != "mutants":
            errors.worst.append(f"{kind} {name}: {score:.2f} on {function.key}")
    return errors


def _scores(
    function: SourceFunction, harness: Harness, stand_ins: Mapping[str, Mapping[str, str]], sandbox: Sandbox
) -> dict[tuple[str, str], float]:
    """SIM_func of every stand-in, by kind and name."""
    names = [(kind, name) for kind, codes in stand_ins.items() for name in codes]
    runs = [
        Run(
            program=spliced_program(function, harness.scaffold, stand_ins[kind][name]),
            states=harness.states,
            state_timeout_s=harness.state_timeout_s,
        )
        for kind, name in names
    ]
    return {
        name: similarity(harness.expected, execution.outputs)[0]
        for name, execution in zip(names, run_together(sandbox, runs), strict=True)
    }


def _strangers(
    analysis: Analysis, others: Sequence[SourceFunction], generator: random.Random
) -> Iterator[tuple[str, str]]:
    """Bodies of functions of other files that take as many parameters, with these parameters' names."""
    found = 0
    for other in generator.sample(list(others), len(others)):
        if found == STRANGERS:
            return
        if other.path == analysis.source.path:
            continue
        try:
            stranger = analyse(other)
        except UnreadableFunctionError:
            continue
        own, theirs = _names(analysis), _names(stranger)
        if len(own) != len(theirs) or stranger.is_async != analysis.is_async:
            continue
        code = _with_body(analysis, _renamed(stranger.node, dict(zip(theirs, own, strict=True))))
        if code is not None:
            found += 1
            yield f"stranger {other.key}", code


def _names(analysis: Analysis) -> list[str]:
    receiver = [analysis.receiver] if analysis.receiver is not None else []
    return [*receiver, *(parameter.name for parameter in analysis.parameters)]


def _renamed(node: FunctionNode, names: Mapping[str, str]) -> FunctionNode:
    changed = copy.deepcopy(node)
    for item in ast.walk(changed):
        if isinstance(item, ast.Name):
            item.id = names.get(item.id, item.id)
    return changed


def _siblings(analysis: Analysis, generator: random.Random) -> Iterator[tuple[str, str]]:
    """The function by another rule: other constants, and its checks in another order."""
    for number in range(SIBLINGS):
        changed = copy.deepcopy(analysis.node)
        constants = [
            item for item in _own_constants(changed) if not isinstance(item.value, bool | type(None))
        ]
        chains = [item for item in ast.walk(changed) if _is_chain(item)]
        if len(constants) + len(chains) < 2:
            return
        for item in constants:
            if generator.random() < 0.6 or item is constants[0]:
                item.value = _other(item.value, generator)
        for item in chains:
            if isinstance(item, ast.If) and isinstance(item.orelse[0], ast.If):
                item.test, item.orelse[0].test = item.orelse[0].test, item.test
        code = _with_body(analysis, changed)
        if code is not None:
            yield f"sibling {number}", code


def _is_chain(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


def _own_constants(node: FunctionNode) -> list[ast.Constant]:
    skipped: set[int] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            skipped.add(id(item.value))
        elif isinstance(item, ast.JoinedStr):
            skipped.update(id(inner) for inner in ast.walk(item))
    found = [item for statement in node.body for item in ast.walk(statement)]
    return [item for item in found if isinstance(item, ast.Constant) and id(item) not in skipped]


def _other(value: object, generator: random.Random) -> object:
    if isinstance(value, int):
        return value + generator.choice((1, 2, 5, 11))
    if isinstance(value, float):
        return value * 1.7 + 1.0
    if isinstance(value, str):
        return value + generator.choice(("_other", "2", "!"))
    return value + b"2" if isinstance(value, bytes) else value


def _stubs(analysis: Analysis, harness: Harness) -> dict[str, str]:
    """Stubs that the proofs do not know."""
    known = {stub.code for stub in make_stubs(analysis, harness.expected)}
    give = "yield" if analysis.is_generator else "return"
    tail = "; yield" if analysis.is_generator else ""
    names = _names(analysis)
    bodies = {
        "one": f"{give} 1",
        "minus one": f"{give} -1",
        "mapping": f"{give} {{}}",
        "empty list": f"{give} []",
        "empty tuple": f"{give} ()",
        "word": f"{give} 'stub'",
        "value error": f"raise ValueError(){tail}",
        "not implemented": f"raise NotImplementedError('later'){tail}",
    }
    for name in names[:2]:
        bodies[f"not {name}"] = f"{give} not {name}"
        bodies[f"text of {name}"] = f"{give} str({name})"
        bodies[f"list of {name}"] = f"{give} [{name}]"
    found = {}
    for name, body in bodies.items():
        code = _with_statements(analysis, ast.parse(body).body)
        if code is not None and code not in known:
            found[name] = code
    return found


def _with_body(analysis: Analysis, node: FunctionNode) -> str | None:
    return _with_statements(analysis, node.body)


def _with_statements(analysis: Analysis, body: list[ast.stmt]) -> str | None:
    try:
        return code_with_body(analysis.source, body)
    except UnwritableCodeError:
        return None
