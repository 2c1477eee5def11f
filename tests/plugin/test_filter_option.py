"""``--funcmem-filter``: functions of little logic are left out, counted, and what rated them is said."""

from __future__ import annotations

from typing import Any

import pytest


def test_functions_of_little_logic_are_left_out_and_counted(scene: Any) -> None:
    labels = scene.pytester.path / "labels.jsonl"
    labels.write_text(
        '{"function": "tariffs.py::parcel_fee", "severity": 7}\n'
        '{"function": "tariffs.py::delay_class", "severity": 2}\n',
        encoding="utf-8",
    )
    result = scene.run(f"--funcmem-filter=labels:{labels}", "--funcmem-report=json:out.jsonl")
    result.stdout.fnmatch_lines(
        [
            "*left out*1 of too little logic*",
            "*functions were rated by labels, none of these below severity 7*",
        ]
    )
    manifest, *functions, summary = scene.report()
    found = {line["nodeid"]: line["function"]["severity"] for line in functions}
    # What got no rating stays in, with none.
    assert found == {"tariffs.py::parcel_fee": 7, "tariffs.py::Depot.store": None}
    assert manifest["dropped"]["low_severity"] == 1
    assert manifest["settings"]["filter"] == f"labels:{labels}"
    assert "1 of them got no rating" in summary["note"]


def test_the_syntax_tree_rates_for_free(scene: Any) -> None:
    result = scene.run("--funcmem-filter=local", "--collect-only", "-q")
    assert len([line for line in result.outlines if "::" in line]) == 3
    assert not (scene.pytester.path / ".funcmem").exists()
    none = scene.run("--funcmem-filter=local", "--funcmem-min-severity=10")
    assert none.ret == 4
    assert "low_severity" in none.stdout.str() + none.stderr.str()


@pytest.mark.parametrize("spec", ["best", "labels:/no/such/file", "hf:/no/such/model"])
def test_a_rater_that_cannot_be_had_is_refused(scene: Any, spec: str) -> None:
    result = scene.run(f"--funcmem-filter={spec}")
    assert result.ret == 4
    assert spec.partition(":")[2] in result.stdout.str() + result.stderr.str()
