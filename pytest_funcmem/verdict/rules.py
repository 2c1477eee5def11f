"""The verdict on one function.

======================  =========================================================================
``verbatim``            SIM_text(target) ≥ τ_text and SIM_text(reference) < τ_text, harness or not
``functional``          SIM_func(target) ≥ τ_func, SIM_text(target) < τ_text, SIM_func(reference) < τ_func
``inconclusive``        no valid harness and not verbatim, unless neither completion holds a function
``clean``               otherwise
``error``               the audit itself broke
======================  =========================================================================

This module knows neither how similarities are computed nor how a verdict is shown.
"""

from __future__ import annotations

from pytest_funcmem.core.errors import AuditError
from pytest_funcmem.core.records import AuditRecord, Harness, Inconclusive, Side, Verdict

__all__ = ["decide", "exchanged"]


def decide(
    *,
    target: Side,
    reference: Side,
    harness: Harness | Inconclusive,
    tau_func: float = 0.8,
    tau_text: float = 0.75,
) -> Verdict:
    """Decide on one function.

    Args:
        target: The model under audit, with its similarities.
        reference: The model without exposure, with its similarities.
        harness: The harness that judged, or why there is none.
        tau_func: Least SIM_func at which two functions count as equal.
        tau_text: Least SIM_text at which a completion counts as near-verbatim.

    Raises:
        AuditError: A harness judged, but a side lacks its functional similarity.
    """
    target_text, reference_text = target.similarity.bleu.value, reference.similarity.bleu.value
    if target_text >= tau_text and reference_text < tau_text:
        return Verdict(
            kind="verbatim",
            reason=f"the target's text is near-verbatim ({_compare('SIM_text', target_text, tau_text)})"
            f" and the reference's is not ({_compare('SIM_text', reference_text, tau_text)})",
        )
    if isinstance(harness, Inconclusive):
        return _without_harness(target, reference, harness)
    target_func, reference_func = _func(target, "target"), _func(reference, "reference")
    if target_func >= tau_func and target_text < tau_text and reference_func < tau_func:
        return Verdict(
            kind="functional",
            reason=f"the target behaves like the original ({_compare('SIM_func', target_func, tau_func)}) in"
            f" other words ({_compare('SIM_text', target_text, tau_text)}), and the reference does not"
            f" ({_compare('SIM_func', reference_func, tau_func)})",
        )
    return Verdict(
        kind="clean",
        reason=_why_clean(target_text, reference_text, target_func, reference_func, tau_func, tau_text),
    )


def exchanged(record: AuditRecord, *, tau_func: float, tau_text: float) -> Verdict:
    """The verdict on a finished record with target and reference exchanged (for the noise floor).

    Args:
        record: A record of any verdict; one that broke, or that a model is missing from, stays ``error``.
        tau_func: As in ``decide``.
        tau_text: As in ``decide``.
    """
    if record.verdict.kind == "error" or record.target is None or record.reference is None:
        return Verdict(kind="error", reason=record.verdict.reason)
    if record.harness is None:
        return Verdict(kind="error", reason="the audit broke before a harness was built")
    return decide(
        target=record.reference,
        reference=record.target,
        harness=record.harness,
        tau_func=tau_func,
        tau_text=tau_text,
    )


def _without_harness(target: Side, reference: Side, harness: Inconclusive) -> Verdict:
    if _holds_no_function(target) and _holds_no_function(reference):
        return Verdict(
            kind="clean",
            reason=f"neither completion can be run: the target's is {target.candidate.status}"
            f" and the reference's {reference.candidate.status}, and so both score 0",
        )
    return Verdict(kind="inconclusive", reason=f"{harness.reason}: {harness.detail or 'no valid harness'}")


def _holds_no_function(side: Side) -> bool:
    # An empty completion is an unparsable one in every language: a signature alone is no function.
    return side.candidate.status in ("unparsed", "empty")


def _func(side: Side, name: str) -> float:
    if side.func is None:
        raise AuditError(
            f"The {name} was not run on a harness that is there.",
            expected="a functional similarity for both models",
            remedy="run the audit again; report this if it stays",
        )
    return side.func


def _why_clean(
    target_text: float,
    reference_text: float,
    target_func: float,
    reference_func: float,
    tau_func: float,
    tau_text: float,
) -> str:
    if target_text >= tau_text:
        return (
            f"both texts are near-verbatim ({_compare('SIM_text', target_text, tau_text)} and the reference's"
            f" {_compare('SIM_text', reference_text, tau_text)}): known without exposure"
        )
    if target_func >= tau_func:
        return (
            f"both models behave like the original ({_compare('SIM_func', target_func, tau_func)} and the"
            f" reference's {_compare('SIM_func', reference_func, tau_func)}): known without exposure"
        )
    return (
        f"the target gives neither the original's behaviour ({_compare('SIM_func', target_func, tau_func)})"
        f" nor its text ({_compare('SIM_text', target_text, tau_text)})"
    )


def _compare(name: str, value: float, threshold: float) -> str:
    sign = "≥" if value >= threshold else "<"
    return f"{name} {_shown(value, threshold)} {sign} {threshold:g}"


def _shown(value: float, threshold: float) -> str:
    """Show a figure with just enough digits that it stands on its own side of the threshold."""
    for digits in range(2, 17):
        text = f"{value:.{digits}f}"
        if (float(text) >= threshold) is (value >= threshold):
            return text
    return repr(value)
