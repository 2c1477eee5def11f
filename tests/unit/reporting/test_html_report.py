"""The HTML report without a browser: what is in the file, and that no text of an audit can become markup."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import AuditError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import AuditRecord, Rate, StateComparison
from pytest_funcmem.core.registry import load
from pytest_funcmem.reporting.html.chart import Bar, bar_chart
from pytest_funcmem.reporting.html.details import details
from pytest_funcmem.reporting.html.report import CHUNK, HtmlReporter
from pytest_funcmem.reporting.masking import mask
from pytest_funcmem.verdict.rates import rate

MANIFEST: dict[str, Any] = {
    "tool": {"name": "pytest-funcmem", "version": "0.1"},
    "settings": {"model": "hf:models/target", "reference": "hf:models/reference"},
    "models": {"target": {"spec": "hf:models/target", "revision": "sha256:" + "a" * 64}},
    "sources": ["src"],
    "selected": 4,
    "reported": 3,
    "started": "2026-01-01T00:00:00+00:00",
    "finished": "2026-01-01T00:01:00+00:00",
}
GATED: dict[str, Any] = {
    "models": {},
    "settings": {"model": ["one", "two"], "reference": "three"},
    "gate": [{"model": "one", "exit_code": 1, "rule": "leaks", "reason": "1 leak and 1 error"}],
    "baseline": {"accepted": ["a.py::f0"], "expired": ["a.py::f1"], "vanished": ["x"]},
}
HOSTILE = "</script><img src=x onerror=alert(1)><!--\u202e\x1b[31m'\"&amp;@@SCRIPT@@"


class Reader(html.parser.HTMLParser):
    """Collects tags with attributes, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def unpacked(text: str, name: str) -> Any:
    found = re.search(
        rf'<script type="application/octet-stream" id="{name}">([A-Za-z0-9+/=]+)</script>', text
    )
    assert found is not None, name
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def render(records: list[AuditRecord], path: Path, manifest: dict[str, Any] = MANIFEST) -> str:
    nodeids = [f"a.py::f{number}" for number in range(len(records))]
    HtmlReporter(Settings()).write(manifest, records, nodeids, path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def records(
    functional_record: AuditRecord, verbatim_record: AuditRecord, error_record: AuditRecord
) -> list[AuditRecord]:
    return [functional_record, verbatim_record, error_record]


def test_it_is_registered(tmp_path: Path) -> None:
    assert load("reporter", "html") is HtmlReporter


def test_equal_records_give_equal_bytes(records: list[AuditRecord], tmp_path: Path) -> None:
    render(records, tmp_path / "one.html")
    render(records, tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_nothing_is_fetched_and_only_its_own_script_may_run(
    records: list[AuditRecord], tmp_path: Path
) -> None:
    text = render(records, tmp_path / "out.html")
    reader = Reader(text)
    assert not [a for _, a in reader.tags if "src" in a or "srcset" in a]
    assert all((a.get("href") or "").startswith("#") for _, a in reader.tags if "href" in a)
    assert not [name for _, a in reader.tags for name in a if name.startswith("on") or name == "style"]
    assert "@import" not in text
    assert "url(" not in text
    policy = next(
        a["content"] for a in reader.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        code = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert code is not None
        digest = base64.b64encode(hashlib.sha256(code[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_overview_says_counts_rates_and_what_is_missing(records: list[AuditRecord], tmp_path: Path) -> None:
    text = render(records, tmp_path / "out.html")
    shown = " ".join(" ".join(Reader(text).texts).split())
    assert "2 leaks in 3 functions" in shown
    assert "2 of 3 functions decided: 66.7 % (9.4 to 99.2 %)" in shown
    assert "1 of 4 functions were not reached" in shown
    assert "noise floor" in shown
    assert "1 of the functions decided were decided by text alone" in shown
    assert text.count("<svg") == 2


def test_overview_says_how_the_gate_decided_and_what_is_accepted(
    records: list[AuditRecord], tmp_path: Path
) -> None:
    manifest = {**MANIFEST, **GATED}
    text = render(records, tmp_path / "out.html", manifest)
    shown = " ".join(" ".join(Reader(text).texts).split())
    assert "fails (rule 'leaks', exit code 1): 1 leak and 1 error" in shown
    assert "1 accepted by the baseline, 1 whose acceptance has expired" in shown
    assert "one, two" in shown  # several targets
    assert [row[10:] for row in unpacked(text, "index")["rows"]] == [
        ["accepted", ""],
        ["expired", ""],
        ["", ""],
    ]


def test_several_models_stand_apart(
    functional_record: AuditRecord, verbatim_record: AuditRecord, tmp_path: Path
) -> None:
    clean = dataclasses.replace(
        functional_record, verdict=dataclasses.replace(functional_record.verdict, kind="clean")
    )
    specs = ("hf:runs/early", "hf:runs/late <b>")
    manifest = {
        **MANIFEST,
        "settings": {**MANIFEST["settings"], "model": list(specs)},
        "gate": [{"model": spec, "exit_code": 1, "rule": "leaks", "reason": "so"} for spec in specs],
    }
    names = ["a.py::f[early]", "a.py::g[early]", "a.py::f[late <b>]", "a.py::g[late <b>]"]
    path = tmp_path / "out.html"
    records = [functional_record, verbatim_record, clean, verbatim_record]
    HtmlReporter(Settings(model=specs)).write(manifest, records, names, path)
    text = path.read_text(encoding="utf-8")
    shown = " ".join(" ".join(Reader(text).texts).split())
    assert "3 leaks in 4 results of 2 models" in shown
    assert "early 1 1 0 0 0 2 of 2 functions decided" in shown
    assert "late <b> 0 1 1 0 0 2 of 2 functions decided" in shown
    assert "gate early fails" in shown
    assert 'href="#/?model=late%20%3Cb%3E"' in text
    # No rate is over two models: their functions are the same.
    assert "all languages" not in shown
    assert re.search(r"early functional 50\.0 % 1/2", shown)
    assert re.search(r"late <b> functional 0\.0 % 0/2", shown)
    assert "/4 ·" not in shown
    assert [row[11] for row in unpacked(text, "index")["rows"]] == ["early", "early", "late <b>", "late <b>"]


def test_index_and_details_of_every_function(records: list[AuditRecord], tmp_path: Path) -> None:
    many = records * CHUNK
    text = render(many, tmp_path / "out.html")
    index = unpacked(text, "index")
    assert [row[1] for row in index["rows"]] == ["functional", "verbatim", "error"] * CHUNK
    assert index["rows"][0][6:] == [0.9, 0.3897, 0.1, 0.0017, "", ""]
    chunks = [unpacked(text, f"chunk-{number}") for number in range(3)]
    assert [len(chunk) for chunk in chunks] == [CHUNK] * 3
    assert chunks[2][CHUNK - 3] == json.loads(json.dumps(details(records[0], [])))


def test_near_duplicates_are_rows_of_the_same_model(functional_record: AuditRecord, tmp_path: Path) -> None:
    def named(qualname: str) -> AuditRecord:
        function = dataclasses.replace(functional_record.function, qualname=qualname)
        return dataclasses.replace(functional_record, function=function)

    records = [named(name) for name in ("f", "g", "f", "g")]
    path = tmp_path / "out.html"
    settings = Settings(model=("hf:early", "hf:late"))
    names = ["a.py::f[early]", "a.py::g[early]", "a.py::f[late]", "a.py::g[late]"]
    HtmlReporter(settings).write(MANIFEST, records, names, path)
    pages = unpacked(path.read_text(encoding="utf-8"), "chunk-0")
    assert [page["near"] for page in pages] == [[[1, 1.0]], [[0, 1.0]], [[3, 1.0]], [[2, 1.0]]]
    # What is masked has no code to compare, and the page does not claim that there is none.
    HtmlReporter(settings).write(MANIFEST, [mask(record) for record in records], names, path)
    pages = unpacked(path.read_text(encoding="utf-8"), "chunk-0")
    assert [page["near"] for page in pages] == [None] * 4


def test_hostile_text_stays_text(functional_record: AuditRecord, tmp_path: Path) -> None:
    state = functional_record.comparisons[2]
    record = dataclasses.replace(
        functional_record,
        function=dataclasses.replace(functional_record.function, path=HOSTILE, qualname=HOSTILE),
        verdict=dataclasses.replace(functional_record.verdict, reason=HOSTILE),
        comparisons=(
            StateComparison(
                state=dataclasses.replace(state.state, arguments=(HOSTILE,)),
                original=dataclasses.replace(state.original, value=HOSTILE, stdout=HOSTILE),
                target=None,
                reference=dataclasses.replace(state.original, value=f"{HOSTILE}!"),
                target_matches=False,
                reference_matches=False,
            ),
        ),
    )
    manifest = {**MANIFEST, "sources": [HOSTILE], "settings": {HOSTILE: HOSTILE}, "tool": {"name": HOSTILE}}
    plain = Reader(render([functional_record], tmp_path / "plain.html"))
    text = render([record], tmp_path / "hostile.html", manifest)
    reader = Reader(text)
    assert not reader.all("img")
    assert len(reader.all("script")) == len(plain.all("script"))
    for character in ("\u202e", "\x1b"):
        assert character not in text
    packed = json.dumps([unpacked(text, "index"), unpacked(text, "chunk-0")], ensure_ascii=False)
    assert "onerror=alert(1)" in packed
    assert "\u202e" not in packed


def test_what_equals_the_original_is_not_repeated(functional_record: AuditRecord) -> None:
    states = details(functional_record)["states"]
    assert [state[2] is None for state in states] == [c.target_matches for c in functional_record.comparisons]
    assert states[2][0] == ["(200.125, 12, Customer(is_loyal=False))"]
    original = dict(states[2][1])
    assert original["result"] == "203.13"
    # The reference returned another value and left its argument alone; the target ran out of time at last.
    assert states[2][3] == [["result", "200.125"], ["argument customer", "unchanged"]]
    assert states[9][2] == [["result", "ran out of time: 2.0 s"]]


def test_a_flood_is_bounded(functional_record: AuditRecord) -> None:
    flood = "x" * 100_000
    state = functional_record.comparisons[2]
    record = dataclasses.replace(
        functional_record,
        function=dataclasses.replace(
            functional_record.function,
            text=functional_record.function.text + f"    a = '{flood}'\n" * 3,
            end=functional_record.function.end + 100_000,
        ),
        comparisons=tuple(
            StateComparison(
                state=dataclasses.replace(state.state, setup=(flood,) * 200),
                original=dataclasses.replace(state.original, value=flood, stdout=flood),
                target=dataclasses.replace(state.original, value=flood + "y", stderr=flood),
                reference=None,
                target_matches=False,
                reference_matches=False,
            )
            for _ in range(150)
        ),
    )
    found = details(record)
    assert len(found["states"]) == 100
    assert found["more_states"] == 50
    assert len(json.dumps(found)) < 1_500_000


def test_bars_end_where_their_shares_do() -> None:
    bars = (
        Bar(label="reference", kind="reference", rate=rate(1, 10)),
        Bar(label="target", kind="target", rate=rate(2, 10)),
    )
    drawing = bar_chart({"python": bars}, identifier="x", title="T")
    widths = [float(width) for width in re.findall(r'<rect class="bar \w+" [^>]*width="([\d.]+)"', drawing)]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)
    assert "2/10 · 20.0 %" in drawing
    none = Bar(
        label="target", kind="target", rate=Rate(numerator=0, denominator=0, value=None, low=0, high=1)
    )
    assert 'width="0.0"' in bar_chart({"c": (none,)}, identifier="x", title="T")


def test_a_directory_that_is_not_there(records: list[AuditRecord], tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="HTML report could not be written"):
        render(records, tmp_path / "none" / "out.html")
    assert list(tmp_path.iterdir()) == []
