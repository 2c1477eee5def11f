"""What rates the functions of an audit before it begins, and what scores completions beside the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.scoring import Scorer
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Severity
from pytest_funcmem.corpora.reading import Corpus
from pytest_funcmem.metrics.choice import MetricSettings, split_names
from pytest_funcmem.metrics.judging.asking import AskerSettings
from pytest_funcmem.metrics.severity.raters import JudgeRater, open_rater
from pytest_funcmem.models.prices import read_prices
from pytest_funcmem.plugin.progress import Progress
from pytest_funcmem.store.directory_store import DirectoryStore

__all__ = ["Ratings"]


class Ratings:
    """The filter and the metrics of one audit.

    Args:
        settings: Of the audit.

    Raises:
        UsageError: A metric was named wrongly.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = _metrics(settings)
        self.severities: dict[str, Severity] = {}

    def filtered(self, corpus: Corpus, progress: Progress) -> Corpus:
        """The functions that hold logic worth protecting; what got no rating stays.

        Raises:
            UsageError: There is no such rater.
            AuditError: The engine behind it failed.
        """
        spec = self.settings.filter
        if spec is None or not corpus.functions:
            return corpus
        store = DirectoryStore(Path(self.settings.store))
        rater = open_rater(spec, store=store, settings=self._judges(), where="--funcmem-filter")
        progress.say(f"rating {len(corpus.functions)} functions by {spec}")
        try:
            found = rater.rate(tuple(corpus.functions))
        finally:
            rater.close()
        if isinstance(rater, JudgeRater):
            progress.say(f"{spec}: {rater.tally.text}")
        kept = []
        for function, severity in zip(corpus.functions, found, strict=True):
            if severity.value is None or severity.value >= self.settings.min_severity:
                self.severities[function.key] = severity
                kept.append(function)
        dropped = {**corpus.dropped, "low_severity": len(found) - len(kept)}
        return replace(corpus, functions=tuple(kept), dropped=dropped)

    def _judges(self) -> AskerSettings:
        prices = self.settings.prices
        return AskerSettings(
            max_cost=self.settings.judge_max_cost,
            prices=None if prices is None else read_prices(Path(prices)),
            device=self.settings.device,
        )

    def open_scorer(self, store: DirectoryStore, counters: Counters) -> Scorer | None:
        """What adds the scores of metrics, where some were asked for."""
        if not self.metrics:
            return None
        judges = self._judges()
        settings = MetricSettings(device=judges.device, max_cost=judges.max_cost, prices=judges.prices)
        return Scorer(self.metrics, store=store, settings=settings, counters=counters)


def _metrics(settings: Settings) -> tuple[str, ...]:
    if not settings.metrics:
        return ()
    return split_names(",".join(settings.metrics), where="--funcmem-metrics")
