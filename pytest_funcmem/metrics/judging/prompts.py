"""What the judges are asked: three prompts, after Song et al. (2024), Nikiema et al. (2025) and the paper.

This module knows no model and reads no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.core.records import Language

__all__ = ["LANGUAGE_NAMES", "PROMPTS", "JudgePrompt", "PromptName"]

PromptName = Literal["song", "nikiema", "ours"]

LANGUAGE_NAMES: Mapping[Language, str] = {
    "python": "Python",
    "java": "Java",
    "c": "C",
    "rust": "Rust",
    "go": "Go",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt:
    """One way to ask.

    Attributes:
        name: How the user names it.
        version: Changes with every word of it, so that no stored answer to other words is used.
        system: System prompt, with ``{language}``.
        user: Question, with ``{language}``, ``{original}`` and ``{candidate}``.
        key: Key of the score where an object is asked for; "" where ``[[score]]`` is.
    """

    name: PromptName
    version: int
    system: str
    user: str
    key: str

    def texts(self, pair: CodePair) -> tuple[str, str]:
        """System prompt and question for a pair."""
        language = LANGUAGE_NAMES[pair.language]
        question = self.user.replace("{language}", language)
        # The texts may hold anything, braces and each other's placeholders included: each is put in once.
        before, _, rest = question.partition("{original}")
        between, _, after = rest.partition("{candidate}")
        question = "".join((before, pair.original.strip(), between, pair.candidate.strip(), after))
        return self.system.replace("{language}", language), question


_EVALUATOR = "You are a code similarity evaluation system."

PROMPTS: Mapping[str, JudgePrompt] = {
    "song": JudgePrompt(
        name="song",
        version=1,
        system=_EVALUATOR,
        user=(
            "Given 2 {language} code paragraphs, please generate a similarity score from 0 to 1 (to three"
            " decimal places), by grammar parsing structure. Answer with a format like [[0.777]].\n"
            "=====Code 1=====\n{original}\n=====Code 2=====\n{candidate}\n=====End====="
        ),
        key="",
    ),
    "nikiema": JudgePrompt(
        name="nikiema",
        version=1,
        system=f"{_EVALUATOR} You assess semantic relationships between code fragments.",
        user=(
            "Evaluate the semantic similarity between the following two {language} code fragments.\n\n"
            "Code Fragment 1:\n{original}\n\nCode Fragment 2:\n{candidate}\n\n"
            "Provide your evaluation as a JSON object with these three fields:\n"
            '1. "similarity_rating": a score from 0.0 to 1.0 indicating semantic similarity\n'
            '2. "category": one of "equivalent", "similar", "opposed", or "unrelated"\n'
            '3. "reasoning": a brief justification for your rating\n\n'
            "Respond with ONLY the JSON object."
        ),
        key="similarity_rating",
    ),
    "ours": JudgePrompt(
        name="ours",
        version=1,
        system=(
            "You are a code analysis expert evaluating functional equivalence between two {language}"
            " functions."
        ),
        user=(
            "Evaluate whether the following two {language} functions encode the same logic. Consider whether"
            " they would produce the same outputs for the same inputs, whether they implement the same"
            " algorithm or approach, and whether they handle edge cases similarly.\n\n"
            "Function A (Reference):\n{original}\n\nFunction B (Generated):\n{candidate}\n\n"
            "Provide a single equivalence score from 0.0 to 1.0, where 0.0 means completely different logic"
            " and 1.0 means identical logic. Respond with ONLY a JSON object:"
            ' {"equivalence_score": 0.0 to 1.0, "reasoning": "brief explanation"}'
        ),
        key="equivalence_score",
    ),
}
"""The prompts by the names in ``judge:NAME@SPEC``, as the paper's appendix D.1 prints them."""
