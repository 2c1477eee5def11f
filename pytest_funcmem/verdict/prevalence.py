"""How often each model gives back text or behaviour, and how often only the target does (paper, Figure 2).

The four shares have one denominator, the functions decided, so that they can stand beside each other. A
function that was decided by its text alone counts as one whose behaviour no model gave back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_funcmem.core.records import LANGUAGES, AuditRecord, Language, Rate
from pytest_funcmem.verdict.rates import rate

__all__ = ["Prevalence", "prevalence", "prevalence_by_language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevalence:
    """Shares of the functions decided.

    Attributes:
        text_reference: The reference's text is near-verbatim.
        text_target: The target's is.
        text_only_target: The target's is and the reference's is not.
        behaviour_reference: The reference behaves like the original.
        behaviour_target: The target does.
        behaviour_only_target: The target does and the reference does not.
        behaviour_unseen: Of those, the ones whose text is not near-verbatim: an audit by text misses them.
        by_text_alone: Functions decided without a harness, as a number.
    """

    text_reference: Rate
    text_target: Rate
    text_only_target: Rate
    behaviour_reference: Rate
    behaviour_target: Rate
    behaviour_only_target: Rate
    behaviour_unseen: Rate
    by_text_alone: int


def prevalence_by_language(
    records: Sequence[AuditRecord], *, tau_func: float, tau_text: float
) -> dict[Language, Prevalence]:
    """The shares of each language that occurs, in the fixed order of languages.

    Args:
        records: Finished records.
        tau_func: Least SIM_func at which two functions count as equal.
        tau_text: Least SIM_text at which a completion counts as near-verbatim.
    """
    found = {}
    for language in LANGUAGES:
        own = [record for record in records if record.function.language == language]
        if own:
            found[language] = prevalence(own, tau_func=tau_func, tau_text=tau_text)
    return found


def prevalence(records: Sequence[AuditRecord], *, tau_func: float, tau_text: float) -> Prevalence:
    """The shares over all records given; see ``prevalence_by_language``."""
    counts = dict.fromkeys(
        (
            "text_reference",
            "text_target",
            "text_only_target",
            "behaviour_reference",
            "behaviour_target",
            "behaviour_only_target",
            "behaviour_unseen",
        ),
        0,
    )
    decided = alone = 0
    for record in records:
        target, reference = record.target, record.reference
        if not record.verdict.is_decided or target is None or reference is None:
            continue
        decided += 1
        alone += target.func is None
        text_target = target.similarity.bleu.value >= tau_text
        text_reference = reference.similarity.bleu.value >= tau_text
        behaviour_target = (target.func or 0.0) >= tau_func and target.func is not None
        behaviour_reference = (reference.func or 0.0) >= tau_func and reference.func is not None
        counts["text_reference"] += text_reference
        counts["text_target"] += text_target
        counts["text_only_target"] += text_target and not text_reference
        counts["behaviour_reference"] += behaviour_reference
        counts["behaviour_target"] += behaviour_target
        counts["behaviour_only_target"] += behaviour_target and not behaviour_reference
        counts["behaviour_unseen"] += behaviour_target and not behaviour_reference and not text_target
    rates = {name: rate(count, decided) for name, count in counts.items()}
    return Prevalence(**rates, by_text_alone=alone)
