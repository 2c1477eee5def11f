"""Scores of the PyPI package ``codebleu``, for an interpreter that has it.

Reads pairs as JSON lines from standard input and writes for each the parts of its score, the texts as the
package cleans them of comments, and how often its data-flow extractor gave up. The package gets sets that
keep the order of insertion, so that its data flow does not depend on the hash seed; ``--seeded`` leaves it as
it is.
"""

from __future__ import annotations

import json
import logging
import sys


class OrderedSet(dict):  # type: ignore[type-arg]
    """As much of a set as the package uses, in order."""

    def __init__(self, items=()):  # type: ignore[no-untyped-def]
        super().__init__(dict.fromkeys(items))

    def add(self, item):  # type: ignore[no-untyped-def]
        self[item] = None


def main() -> None:
    logging.disable(logging.CRITICAL)
    from codebleu import calc_codebleu, dataflow_match
    from codebleu.parser import DFG, remove_comments_and_docstrings

    if "--seeded" not in sys.argv:
        for module in (dataflow_match, DFG):
            module.set = OrderedSet
    failures = []

    def watched(extract):  # type: ignore[no-untyped-def]
        def call(*arguments):  # type: ignore[no-untyped-def]
            try:
                return extract(*arguments)
            except Exception as exc:
                failures.append(type(exc).__name__)
                raise

        return call

    extractors = dataflow_match.dfg_function
    for language, extract in list(extractors.items()):
        extractors[language] = watched(extract)

    def cleaned(text, language):  # type: ignore[no-untyped-def]
        try:
            return remove_comments_and_docstrings(text.strip(), language)
        except Exception:
            return text

    for line in sys.stdin:
        pair = json.loads(line)
        language = pair["language"]
        failures.clear()
        scores = calc_codebleu([pair["original"]], [pair["candidate"]], language)
        scores["gave_up"] = len(failures)
        scores["original"] = cleaned(pair["original"], language)
        scores["candidate"] = cleaned(pair["candidate"], language)
        sys.stdout.write(json.dumps(scores) + "\n")


main()
