"""Reports opened in a real headless Chromium, that of this machine."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, InputState, OutputState, StateComparison
from pytest_funcmem.reporting.html.report import HtmlReporter
from tests.conftest import require
from tests.unit.reporting import conftest as made_up

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>\u202e"
MANY = 5000
MANIFEST: dict[str, Any] = {
    "tool": {"name": "pytest-funcmem", "version": "0.1"},
    "settings": {"model": "hf:models/target", "reference": "hf:models/reference"},
    "sources": ["src"],
    "selected": MANY,
    "reported": MANY,
    "started": "2026-01-01T00:00:00+00:00",
    "finished": "2026-01-01T00:01:00+00:00",
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser."""
    path = shutil.which("chromium")
    require(path is not None and find_spec("playwright") is not None, "Chromium and playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def _record(fixture: Any) -> AuditRecord:
    return fixture._get_wrapped_function()()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on many functions: leaks, clean ones in two languages, errors, and one with hostile text."""
    functional = _record(made_up.functional_record)
    verbatim = _record(made_up.verbatim_record)
    broken = _record(made_up.error_record)
    hostile = _hostile(functional)
    records = [functional, verbatim, broken, hostile]
    clean = dataclasses.replace(
        functional,
        verdict=dataclasses.replace(functional.verdict, kind="clean", reason="neither leaks"),
        function=made_up.make_function(body="\n    return amount"),
        target=made_up.make_side("target", "\n    return 1", matches=1),
        reference=made_up.make_side("reference", "\n    return 2", matches=0),
        comparisons=(),
    )
    for number in range(MANY - len(records)):
        function = dataclasses.replace(
            clean.function,
            path=f"part_{number % 40:02}/module_{number % 200:03}.py",
            qualname=f"rule_{number:04}",
            language="rust" if number % 3 == 0 else "python",
        )
        records.append(dataclasses.replace(clean, function=function))
    path = tmp_path_factory.mktemp("html") / "audit.html"
    HtmlReporter(Settings()).write(MANIFEST, records, [record.function.key for record in records], path)
    return path


@pytest.fixture(scope="module")
def report_on_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two functions, each audited with two target models."""
    specs = ("hf:runs/early", "hf:runs/late")
    records = [_record(made_up.functional_record), _record(made_up.verbatim_record)] * 2
    names = [f"a.py::{name}[{label}]" for label in ("early", "late") for name in ("f", "g")]
    path = tmp_path_factory.mktemp("html") / "models.html"
    settings = {"model": list(specs), "reference": "hf:r"}
    HtmlReporter(Settings(model=specs)).write({**MANIFEST, "settings": settings}, records, names, path)
    return path


def _hostile(record: AuditRecord) -> AuditRecord:
    call = {"path": f"client.get('{HOSTILE}')", "arguments": [HOSTILE], "keywords": {}, "answer": HOSTILE}
    original = OutputState(outcome="returned", value=HOSTILE, calls=(call, call), stdout=HOSTILE)
    text = f"def f(a='{HOSTILE}'):\n    return '{HOSTILE}'"
    end = text.index("\n")
    return dataclasses.replace(
        record,
        function=dataclasses.replace(
            record.function,
            path="hostile.py",
            qualname=HOSTILE,
            text=text,
            line=1,
            definition_start=0,
            signature_start=0,
            signature_end=end,
            end=len(text),
        ),
        verdict=dataclasses.replace(record.verdict, reason=HOSTILE),
        comparisons=(
            StateComparison(
                state=InputState(arguments=(repr(HOSTILE),)),
                original=original,
                target=original,
                reference=OutputState(outcome="returned", value=None, calls=(call,)),
                target_matches=True,
                reference_matches=False,
            ),
        ),
    )


class Opened:
    """A page of the report, with what the browser complained of."""

    def __init__(self, page: Any, report: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._ask(request.url, report))
        self.report = report

    def _ask(self, url: str, report: Path) -> None:
        if url != report.as_uri():
            self.complaints.append(f"asked for {url}")

    def go(self, route: str = "") -> Any:
        self.page.goto(self.report.as_uri() + route)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def found(self) -> str:
        return str(self.page.inner_text("#found"))


@pytest.fixture
def opened(chromium: Any, report: Path) -> Iterator[Opened]:
    """The report, opened wide; whatever the browser complains of fails the test."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    found = Opened(context.new_page(), report)
    found.go()
    yield found
    context.close()
    assert found.complaints == []
