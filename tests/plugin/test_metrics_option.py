"""``--funcmem-metrics``: scores in records and reports, computed once, with signatures and notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NAMES = "bleu,codebleu,codebleu-dataflow,tsed"


def functions(scene: Any, name: str) -> list[dict[str, Any]]:
    return [line for line in scene.report(name) if line["kind"] == "function"]


def told(result: pytest.RunResult) -> str:
    """What a run wrote, however its lines are broken."""
    return " ".join(result.stdout.str().split())


def test_scores_stand_in_the_report_and_are_computed_once(scene: Any) -> None:
    first = scene.run(f"--funcmem-metrics={NAMES}", "--funcmem-report=json:first.jsonl")
    assert "computed 20 scores" in told(first)  # both sides of one are the same
    second = scene.run(
        f"--funcmem-metrics={NAMES}", "--funcmem-report=json:second.jsonl", "--funcmem-workers=1"
    )
    assert "computed 0 scores" in told(second)
    assert "24 scores" in told(second)
    lines = functions(scene, "first.jsonl")
    assert [line["nodeid"] for line in lines] == [
        "tariffs.py::parcel_fee",
        "tariffs.py::delay_class",
        "tariffs.py::Depot.store",
    ]
    for line in lines:
        for side in ("target", "reference"):
            found = line[side]
            assert list(found["scores"]) == NAMES.split(",")
            assert found["scores"]["bleu"] == found["bleu"]
            assert found["signatures"]["codebleu"].startswith("codebleu|variant:equal|")
            for name, value in found["scores"].items():
                assert value is None or 0 <= value <= 1
                assert value is not None or found["notes"][name]
    assert lines[1]["target"]["scores"]["tsed"] == 1.0
    assert lines[0]["target"]["scores"]["tsed"] > lines[0]["reference"]["scores"]["tsed"]
    assert [line["target"] for line in functions(scene, "second.jsonl")] == [line["target"] for line in lines]
    text = first.stdout.str()
    assert "codebleu: target 0." in text
    assert "tsed|variant:1.0/0.8/1.0" in text


def test_the_ini_file_names_metrics_too(scene: Any) -> None:
    (scene.pytester.path / "pytest.ini").write_text(
        "[pytest]\nfuncmem_metrics =\n    exact\n    lcs,edit\n", encoding="utf-8"
    )
    scene.run("-k", "parcel_fee", "--funcmem-report=json:out.jsonl")
    (line,) = functions(scene, "out.jsonl")
    assert list(line["target"]["scores"]) == ["exact", "lcs", "edit"]


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ("codebleu,meteor", "There is no metric named 'meteor'"),
        ("bleu,bleu", "named twice"),
        ("embedding", "names no model"),
        ("embedding:no/such/place", "no/such/place"),
        (
            "judge:ours@openai:http://127.0.0.1:9/v1#m",
            "What openai:http://127.0.0.1:9/v1#m costs is not known",
        ),
    ],
)
def test_a_metric_that_cannot_be_had_is_refused_at_once(scene: Any, metrics: str, said: str) -> None:
    result = scene.run(f"--funcmem-metrics={metrics}", "--funcmem-judge-max-cost=1")
    assert result.ret == 4
    assert said in result.stdout.str() + result.stderr.str()


def test_a_table_of_prices_that_is_none_is_refused(scene: Any, tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text('{"m": [1]}', encoding="utf-8")
    result = scene.run("--funcmem-metrics=bleu", f"--funcmem-prices={table}")
    assert result.ret == 4
    assert "The price of 'm' is no two or four numbers" in result.stdout.str() + result.stderr.str()
