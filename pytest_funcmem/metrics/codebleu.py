"""CodeBLEU (Ren et al., 2020) on any current tree-sitter: n-grams, weighted n-grams, syntax and data flow.

The four parts weigh a quarter each. Differences from the PyPI package ``codebleu`` 0.7.0, all of them meant:

- an original without data flow, or with more than the limits allow, has no data-flow part, and the others
  share its weight; the package counts it, and a data flow of which nothing matches, as a perfect match;
- nothing depends on the hash seed;
- C, Rust and Go have extractors of their own (``flow_rules``);
- constants count in syntax and data flow: ``rate = 0.05`` and ``rate = 0.07`` differ;
- comments and docstrings are found by the grammar, not by patterns.

This module knows nothing of thresholds or verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pytest_funcmem.core.protocols import CodePair, Score
from pytest_funcmem.core.records import Language
from pytest_funcmem.metrics.data_flow import DEPTH_LIMIT, WORK_LIMIT, DataFlow, TooMuchFlowError, data_flow
from pytest_funcmem.metrics.flat_tree import TEXT_LIMIT, FlatTree, flatten, grammar_signature
from pytest_funcmem.metrics.flow_rules import RULES
from pytest_funcmem.metrics.keywords import KEYWORDS
from pytest_funcmem.metrics.ngrams import ngram_match, shared_ngrams, weighted_ngram_match
from pytest_funcmem.metrics.notes import blank_note, join_notes, text_notes

__all__ = ["CodeBleu", "CodeBleuDataflow", "CodeBleuParts", "CodeBleuSyntax", "codebleu_parts"]

Constants = Literal["visible", "hidden"]
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBleuParts:
    """The four parts for one pair, each in [0, 1].

    Attributes:
        dataflow: None where the original has no data flow, or one beyond the limits.
        note: What limits were met.
    """

    ngram: float
    weighted_ngram: float
    syntax: float
    dataflow: float | None
    note: str = ""

    @property
    def total(self) -> float:
        """The parts with equal weights; a part that is left out has none."""
        parts = [self.ngram, self.weighted_ngram, self.syntax]
        if self.dataflow is not None:
            parts.append(self.dataflow)
        return sum(parts) / len(parts)


def codebleu_parts(pair: CodePair, *, constants: Constants = "visible") -> CodeBleuParts:
    """The four parts of CodeBLEU.

    Args:
        pair: The texts.
        constants: ``hidden`` gives the published definition, to which constants are all alike.
    """
    original, candidate = (text.strip()[:TEXT_LIMIT].split() for text in (pair.original, pair.candidate))
    shared = shared_ngrams(original, candidate)
    dataflow, note = _dataflow_match(pair, constants)
    return CodeBleuParts(
        ngram=ngram_match(shared),
        weighted_ngram=weighted_ngram_match(shared, KEYWORDS[pair.language]),
        syntax=_syntax_match(pair, constants),
        dataflow=dataflow,
        note=note,
    )


class CodeBleu:
    """The whole metric.

    Args:
        constants: ``hidden`` gives the published definition, to which constants are all alike.
    """

    name = "codebleu"
    _variant = "equal"

    def __init__(self, constants: Constants = "visible") -> None:
        self._constants: Constants = constants

    def signature(self, language: Language) -> str:
        """How figures are computed; see ``Metric.signature``."""
        return _signature(self._variant, self._constants, language)

    def scores(self, pairs: Iterable[CodePair]) -> tuple[Score, ...]:
        """Score pairs; see ``Metric.scores``."""
        return tuple(self._score(pair) for pair in pairs)

    def close(self) -> None:
        """Nothing is held."""

    def _score(self, pair: CodePair) -> Score:
        signature = self.signature(pair.language)
        if blank := blank_note(pair):
            return Score(value=0.0, signature=signature, note=blank)
        value, note = self._value(pair)
        return Score(value=value, signature=signature, note=join_notes(*text_notes(pair), note))

    def _value(self, pair: CodePair) -> tuple[float | None, str]:
        parts = codebleu_parts(pair, constants=self._constants)
        return parts.total, parts.note


class CodeBleuSyntax(CodeBleu):
    """Share of the original's subtrees that stand in the candidate too."""

    name = "codebleu-syntax"
    _variant = "syntax"

    def _value(self, pair: CodePair) -> tuple[float | None, str]:
        return _syntax_match(pair, self._constants), ""


class CodeBleuDataflow(CodeBleu):
    """Share of the original's data flow that the candidate has too; no figure where it has none."""

    name = "codebleu-dataflow"
    _variant = "dataflow"

    def _value(self, pair: CodePair) -> tuple[float | None, str]:
        return _dataflow_match(pair, self._constants)


@lru_cache(maxsize=64)
def _signature(variant: str, constants: Constants, language: Language) -> str:
    return (
        f"codebleu|variant:{variant}|tok:whitespace|const:{constants}|noflow:left-out|version:{VERSION}"
        f"|first:{TEXT_LIMIT}|{grammar_signature(language)}"
    )


# ------------------------------------------------------------------------------------------------- syntax


def _syntax_match(pair: CodePair, constants: Constants) -> float:
    names: dict[object, int] = {}
    original = _subtrees(pair.language, pair.original, constants, names)
    candidate = set(_subtrees(pair.language, pair.candidate, constants, names))
    return sum(subtree in candidate for subtree in original) / len(original)


def _subtrees(language: Language, text: str, constants: Constants, names: dict[object, int]) -> list[int]:
    """A number for each subtree that has children; equal subtrees get equal numbers through ``names``."""
    tree = flatten(language, text)
    dropped = _dropped(language, text)
    shown = RULES[language].constants if constants == "visible" else frozenset()
    numbers = [0] * len(tree.kinds)
    found = []
    # Children have higher numbers than their parents, so backwards every child comes first.
    kinds, fields, named, all_children = tree.kinds, tree.fields, tree.named, tree.children
    number = names.setdefault
    for node in range(len(kinds) - 1, -1, -1):
        if node in dropped:
            continue
        kind, children = kinds[node], all_children[node]
        if children or node == 0:
            parts: list[object] = [kind]
            for child in children:
                if named[child] and child not in dropped:
                    parts += (fields[child], numbers[child])
            numbers[node] = number(tuple(parts), len(names))
            found.append(numbers[node])
        elif kind in shown:
            numbers[node] = number((kind, tree.text(node), "constant"), len(names))
        else:
            numbers[node] = number(kind, len(names))
    return found


@lru_cache(maxsize=8)
def _dropped(language: Language, text: str) -> frozenset[int]:
    """Comments and docstrings with all below them."""
    tree = flatten(language, text)
    kinds = RULES[language].comments
    if language == "python":
        kinds |= {"expression_statement"}
    dropped: set[int] = set()
    for node, kind in enumerate(tree.kinds):
        if kind in kinds and (kind != "expression_statement" or _is_docstring(tree, node)):
            dropped.update(range(node, tree.afters[node]))
    return frozenset(dropped)


def _is_docstring(tree: FlatTree, node: int) -> bool:
    """Whether an expression statement is nothing but a string."""
    children = tree.children[node]
    return len(children) == 1 and tree.kinds[children[0]] in ("string", "concatenated_string")


# ---------------------------------------------------------------------------------------------- data flow


def _dataflow_match(pair: CodePair, constants: Constants) -> tuple[float | None, str]:
    try:
        original = _flow(pair.language, pair.original, constants)
        if not original:
            return None, "the original has no data flow"
        candidate = Counter(_flow(pair.language, pair.candidate, constants))
    except TooMuchFlowError:
        return None, f"data flow beyond {WORK_LIMIT} steps or {DEPTH_LIMIT} levels was left out"
    matched = (Counter(original) & candidate).total()
    return matched / len(original), ""


def _flow(language: Language, text: str, constants: Constants) -> list[DataFlow]:
    return data_flow(
        flatten(language, text),
        RULES[language],
        dropped=_dropped(language, text),
        show_constants=constants == "visible",
    )
