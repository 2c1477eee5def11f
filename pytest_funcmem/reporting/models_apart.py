"""Results of several target models in one run, told apart by what their node ids end in.

Rates over several models together mean little: the same functions are counted once for each, so they are no
independent sample. Reports for people show them model by model.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord
from pytest_funcmem.models.spec import short_names

__all__ = ["by_label", "label_of", "labels_of"]


def labels_of(settings: Settings) -> tuple[str, ...]:
    """The names of the models in node ids, in the order of the audit; none where there is one model."""
    return tuple(short_names(settings.model)) if len(settings.model) > 1 else ()


def label_of(nodeid: str, labels: Sequence[str]) -> str:
    """The model of a node id; "" where there is one model."""
    return next((label for label in labels if nodeid.endswith(f"[{label}]")), "")


def by_label(
    labels: Sequence[str], records: Sequence[AuditRecord], nodeids: Sequence[str]
) -> dict[str, list[tuple[AuditRecord, str]]]:
    """Records with their node ids, by model in the order of the audit, those without results too."""
    found: dict[str, list[tuple[AuditRecord, str]]] = {label: [] for label in labels}
    for record, nodeid in zip(records, nodeids, strict=True):
        found.setdefault(label_of(nodeid, labels), []).append((record, nodeid))
    return found
