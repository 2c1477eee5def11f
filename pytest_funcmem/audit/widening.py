"""Repairs of scaffolds within an audit: found by one checkpoint's candidates, kept for all that follow.

What a candidate lacks is a function of the harness and the candidate; the widened harness is one of the
harness and of what is lacking. The store remembers for each harness all that was ever lacking, so that every
later audit of the function judges with it, and an earlier checkpoint that is audited again is run again with
it: output states are stored under the digest of the harness that made them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.digests import digest, text_digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox, Store
from pytest_funcmem.core.records import Harness, Inconclusive, Json, OutputState, SourceFunction
from pytest_funcmem.harness.widening.labels import widenings
from pytest_funcmem.harness.widening.widen import lacks_of, lacks_of_candidate, widen
from pytest_funcmem.store.codec import encode

__all__ = ["WIDENING_FORMAT", "known_lacks", "widened_harness"]

WIDENING_FORMAT = 1
"""Goes up when the same lacks could give another harness."""

_NAMES, _LACKS = "widening", "lacks"


def known_lacks(store: Store, harness_sha256: str, *, world: Json) -> tuple[str, ...]:
    """What any candidate was ever found to lack of a harness, as far as it could be added."""
    return _texts(store.get(_NAMES, _key("known", harness_sha256, world)))


def widened_harness(
    function: SourceFunction,
    harness: Harness,
    harness_sha256: str,
    candidates: Sequence[tuple[str, Sequence[OutputState]]],
    sandbox: Sandbox,
    *,
    world: Json,
    store: Store,
    settings: Settings,
) -> tuple[Harness | Inconclusive, float] | None:
    """The harness with all that candidates lacked of it, theirs and those of earlier audits.

    Args:
        function: The original.
        harness: Its harness, not widened.
        harness_sha256: Its digest.
        candidates: Code and output states on that harness, of both candidates as far as they have any.
        sandbox: Open.
        world: What of the sandbox can change an output.
        store: Remembers what was lacking, and keeps the widened harness.
        settings: Of the audit.

    Returns:
        The harness, and the seconds that making it took; None where nothing is lacking or can be added. In
        the harness's place, that the budget ran out: a slow machine must not judge by another harness.

    Raises:
        SandboxError: The sandbox failed.
        StoreError: Something could not be stored.
    """
    known = known_lacks(store, harness_sha256, world=world)
    wanted = set(known)
    for code, outputs in candidates:
        wanted.update(
            _lacks(function, harness, harness_sha256, code, outputs, sandbox, world=world, store=store)
        )
    if not wanted:
        return None
    began = time.monotonic()
    key = _key("harness", harness_sha256, world, sorted(wanted))
    found: Any = reuse(store, "harness", key, Harness | Inconclusive)
    if found is None:
        made = widen(function, harness, sorted(wanted), sandbox, settings)
        found = made if isinstance(made, Inconclusive) else made.harness
        if isinstance(found, Inconclusive) and found.reason == "budget":
            return found, time.monotonic() - began
        store.put("harness", key, encode(found))
    if not isinstance(found, Harness):
        return None
    added = set(widenings(found)) - set(widenings(harness))
    if not added <= set(known):
        store.put(_NAMES, _key("known", harness_sha256, world), sorted(added | set(known)))
    return found, time.monotonic() - began


def _lacks(
    function: SourceFunction,
    harness: Harness,
    harness_sha256: str,
    code: str,
    outputs: Sequence[OutputState],
    sandbox: Sandbox,
    *,
    world: Json,
    store: Store,
) -> tuple[str, ...]:
    if not lacks_of(function, outputs):
        return ()
    key = _key("lacks", harness_sha256, world, text_digest(code))
    kept = store.get(_LACKS, key)
    if kept is not None:
        return _texts(kept)
    found = lacks_of_candidate(function, harness, code, outputs, sandbox)
    store.put(_LACKS, key, list(found))
    return found


def _key(*parts: Json) -> str:
    return digest(["widening", WIDENING_FORMAT, *parts])


def _texts(value: Json | None) -> tuple[str, ...]:
    """A stored list of texts; nothing where it is none, which is then found out again."""
    return tuple(value) if isinstance(value, list) and all(isinstance(text, str) for text in value) else ()
