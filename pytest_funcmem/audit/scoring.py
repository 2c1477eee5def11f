"""Scores of the metrics that were asked for, out of the store where they are there already.

The metrics of text see bodies, as SIM_text does; all others see whole functions, since a body alone parses in
no language. A completion out of which no function can be read is scored as it came. Metrics decide nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.keys import score_key
from pytest_funcmem.audit.reuse import reuse
from pytest_funcmem.core.protocols import CodePair, Metric, Store
from pytest_funcmem.core.records import AuditRecord, MetricScore, Side, SourceFunction
from pytest_funcmem.metrics.choice import MetricSettings, open_metric
from pytest_funcmem.metrics.judging.judge import Judge
from pytest_funcmem.store.codec import encode

__all__ = ["Scorer", "compared_pair"]

BODY_METRICS = frozenset({"bleu", "edit", "lcs", "exact"})


class Scorer:
    """Scores both sides of records. May be used from several threads at once.

    Args:
        names: The metrics, as the user named them.
        store: Where scores are taken from and kept.
        settings: What metrics that ask a model need to know.
        counters: Counts what is computed and what is reused.

    Raises:
        UsageError: There is no such metric.
        ModelSpecError: The model that one asks is not there.
        MissingExtraError: A package that one needs is not installed.
    """

    def __init__(
        self, names: Sequence[str], *, store: Store, settings: MetricSettings, counters: Counters
    ) -> None:
        self._store = store
        self._counters = counters
        self._open = ExitStack()
        self._metrics: list[tuple[Metric, threading.Lock]] = []
        self._counting = threading.Lock()
        try:
            for name in names:
                metric = open_metric(name, store=store, settings=settings)
                self._open.callback(metric.close)
                self._metrics.append((metric, threading.Lock()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the metrics. May be called twice."""
        self._open.close()

    def scored(self, record: AuditRecord) -> AuditRecord:
        """The record with the scores of both sides.

        Raises:
            AuditError: The engine behind a metric failed, or a score could not be stored.
        """
        if record.target is None or record.reference is None or not self._metrics:
            return record
        sides = {}
        cost = record.cost_usd
        for name, side in (("target", record.target), ("reference", record.reference)):
            scores = []
            for metric, lock in self._metrics:
                score, dollars = self._score(metric, lock, record.function, side)
                scores.append(score)
                cost = cost if dollars is None else (cost or 0.0) + dollars
            sides[name] = replace(side, scores=tuple(scores))
        return replace(record, target=sides["target"], reference=sides["reference"], cost_usd=cost)

    def _score(
        self, metric: Metric, lock: threading.Lock, function: SourceFunction, side: Side
    ) -> tuple[MetricScore, float | None]:
        """A score, and what it cost: None where nothing was paid, or at a price that is not known."""
        pair = compared_pair(metric.name, function, side)
        with lock:
            signature = metric.signature(pair.language)
        key = score_key(metric.name, signature, pair)
        stored: MetricScore | None = reuse(self._store, "score", key, MetricScore)
        if stored is not None:
            with self._counting:
                self._counters.scores_reused += 1
            return stored, None
        cost = None
        if isinstance(metric, Judge):  # asks its server from several threads at once
            (score,) = metric.scores([pair])
            cost = metric.last_cost or None  # a judge on this machine costs nothing
        else:
            with lock:
                (score,) = metric.scores([pair])
        found = MetricScore(name=metric.name, value=score.value, signature=score.signature, note=score.note)
        with self._counting:
            self._counters.scores_computed += 1
        if found.value is not None or ":" not in metric.name:
            # What a model did not answer, or what was not asked for its cost, may be answered next time.
            self._store.put("score", key, encode(found))
        return found, cost


def compared_pair(name: str, function: SourceFunction, side: Side) -> CodePair:
    """The two texts that a metric compares for one side of a record."""
    candidate = side.candidate
    whole = candidate.status != "unparsed"
    if name in BODY_METRICS:
        body = candidate.body if whole else side.completion.text
        return CodePair(language=function.language, original=function.body, candidate=body)
    code = candidate.code if whole and candidate.code is not None else None
    if code is None:
        body = candidate.body if whole else side.completion.text
        code = function.signature + body if body.strip() else ""
    return CodePair(language=function.language, original=function.code, candidate=code)
