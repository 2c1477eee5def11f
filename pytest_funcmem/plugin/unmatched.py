"""Why a node id that someone named has no function in the audit, and what to do about it."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.corpora.reading import Corpus, read_sources
from pytest_funcmem.languages import body_lines

__all__ = ["unmatched"]


def unmatched(key: str, nodeid: str, settings: Settings, corpus: Corpus) -> UsageError:
    """What is wrong with a node id.

    Args:
        key: ``PATH::QUALNAME`` of the wanted function, as the node id has it.
        nodeid: As it was given.
        settings: Of the audit.
        corpus: What is audited.
    """
    # Read once more without limits: this run ends here.
    sources = [Path(source) for source in settings.source]
    whole = read_sources(sources, min_lines=0, max_lines=sys.maxsize).functions
    found = next((function for function in whole if function.key == key), None)
    if found is not None:
        lines = body_lines(found)
        limit, name = (
            (settings.min_lines, "min-lines")
            if lines < settings.min_lines
            else (settings.max_lines, "max-lines")
        )
        if not settings.min_lines <= lines <= settings.max_lines:
            return UsageError(
                f"The function {nodeid!r} is not audited: its body has {lines} lines.",
                where="command line",
                expected=f"at {'least' if name == 'min-lines' else 'most'} {limit} lines (--funcmem-{name})",
                remedy=f"Add --funcmem-{name}={lines} to audit it.",
            )
        return UsageError(
            f"The function {nodeid!r} is not audited: --funcmem-filter rated it too low.",
            where="command line",
            expected=f"a rating of at least {settings.min_severity:g} (--funcmem-min-severity)",
            remedy="Leave the filter out, or lower the rating that is wanted.",
        )
    close = difflib.get_close_matches(key, [function.key for function in corpus.functions], n=1)
    left_out = ", ".join(f"{number} {reason}" for reason, number in corpus.dropped.items() if number)
    return UsageError(
        f"No audited function has the node id {nodeid!r}.",
        where="command line",
        expected=f"such as {close[0]}" if close else f"one of {len(corpus.functions)} functions",
        remedy="List the node ids with --collect-only -q."
        + (f" Left out of the sources were: {left_out}." if left_out else ""),
    )
