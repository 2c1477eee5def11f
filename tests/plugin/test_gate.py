"""What lets a run pass and what does not: maximal rates, accepted leaks, several models, samples."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import pytest


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return {key: value for key, value in result.parseoutcomes().items() if key != "seconds"}


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for the module: what is audited is the same each time, and so are its harnesses."""
    return tmp_path_factory.mktemp("gate") / "store"


@pytest.fixture
def audit(scene, shared_store: Path):
    return lambda *arguments: scene.run(f"--funcmem-store={shared_store}", *arguments)


def entries(path: Path) -> list[dict[str, object]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))["accepted"]


def test_leaks_that_a_maximal_rate_counts_are_expected_failures(scene, audit) -> None:
    result = audit("--funcmem-max-rate=functional=1.0", "--funcmem-report=json:out.jsonl")
    assert (result.ret, outcomes(result)) == (1, {"failed": 1, "passed": 1, "xfailed": 1})
    result.stdout.fnmatch_lines(
        [
            "max rate*functional leaks: 1/3, upper bound 90.57 %, within 100 %",
            "gate*fails (rule 'leaks'*1 leak*",
        ]
    )
    gate = scene.report()[0]["gate"][0]
    assert (gate["rule"], gate["exit_code"], gate["limits"][0]["numerator"]) == ("leaks", 1, 1)
    over = audit("--funcmem-max-rate=0.9", "-q")
    assert (over.ret, outcomes(over)) == (1, {"passed": 1, "xfailed": 2})
    over.stdout.fnmatch_lines(
        ["gate*fails (rule 'max-rate', exit code 1)*2 of 3 decided, upper bound 99.16 %"]
    )
    assert audit("--funcmem-max-rate=1").ret == 0


def test_a_rate_that_no_leak_was_found_for_may_still_be_too_uncertain(audit) -> None:
    result = audit("-k", "Depot", "--funcmem-max-rate=0.01")
    assert result.ret == 6
    result.stdout.fnmatch_lines(
        ["gate*rule 'max-rate', exit code 6*368 decided without a leak would be enough"]
    )


def test_baseline_from_writing_to_expiry(scene, audit) -> None:
    file = scene.pytester.path / "accepted.toml"
    option = f"--funcmem-baseline={file}"
    missing = audit(option)
    assert missing.ret == 4
    missing.stderr.fnmatch_lines(["*does not exist*", "*remedy:*--funcmem-update-baseline*"])

    written = audit(option, "--funcmem-update-baseline", "--funcmem-accept-who=r.meier")
    assert (written.ret, outcomes(written)) == (0, {"passed": 1, "xfailed": 2})
    found = entries(file)
    assert [(entry["function"], entry["verdict"], entry["who"]) for entry in found] == [
        ("tariffs.py::delay_class", "verbatim", "r.meier"),
        ("tariffs.py::parcel_fee", "functional", "r.meier"),
    ]
    # One is given a reason, the other's day is past.
    text = file.read_text(encoding="utf-8").replace(f"until = {found[1]['until']}", "until = 2020-01-01")
    first, second = text.split("[[accepted]]")[1:]
    first = first.replace("2020-01-01", str(found[0]["until"]))
    second = second.replace(str(found[1]["reason"]), "a public formula")
    file.write_text("format_version = 1\n[[accepted]]" + first + "[[accepted]]" + second, encoding="utf-8")
    expired = audit(option, "--funcmem-report=json:out.jsonl", "-rx")
    assert (expired.ret, outcomes(expired)) == (1, {"failed": 1, "passed": 1, "xfailed": 1})
    expired.stdout.fnmatch_lines(
        [
            "expired: was accepted by r.meier until 2020-01-01: a public formula",
            "XFAIL tariffs.py::delay_class*accepted by r.meier until*",
        ]
    )
    assert scene.report()[0]["baseline"]["expired"] == ["tariffs.py::parcel_fee"]

    # A new run keeps what people wrote; what leaks no more is reported, then dropped.
    scene.target.write_text(scene.reference.read_text(encoding="utf-8"), encoding="utf-8")
    gone = audit(option)
    assert (gone.ret, outcomes(gone)) == (0, {"passed": 3})
    gone.stdout.fnmatch_lines(
        ["baseline*2 vanished: in the baseline, without a leak now", "*tariffs.py::delay_class"]
    )
    narrowed = audit(option, "--funcmem-update-baseline", "-k", "delay_class")
    assert narrowed.ret == 0
    (kept,) = entries(file)
    assert (kept["function"], kept["reason"], kept["until"]) == (
        "tariffs.py::parcel_fee",
        "a public formula",
        datetime.date(2020, 1, 1),
    )


def test_accepted_leaks_fail_where_xfail_is_switched_off(scene, audit) -> None:
    option = "--funcmem-baseline=accepted.toml"
    audit(option, "--funcmem-update-baseline")
    assert outcomes(audit(option, "--runxfail")) == {"failed": 2, "passed": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--funcmem-max-rate=leak=0.1"], "*is no maximal rate*"),
        (["--funcmem-stop-early"], "*no question*"),
        (["--funcmem-update-baseline"], "*no baseline to write*"),
        (["--funcmem-baseline=bad.toml"], "*baseline cannot be used*"),
    ],
)
def test_what_the_gate_cannot_use(scene, arguments: list[str], message: str) -> None:
    (scene.pytester.path / "bad.toml").write_text(
        "format_version = 1\n[[accepted]]\nwho = 3\n", encoding="utf-8"
    )
    result = scene.run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message, "*remedy:*"])
    assert "Traceback" not in result.stderr.str()


def test_several_models_in_one_run(scene, audit, make_replay) -> None:
    other = scene.pytester.mkdir("later") / "target.jsonl"
    other.write_text(scene.reference.read_text(encoding="utf-8"), encoding="utf-8")
    models = [f"--funcmem-model=replay:{path}" for path in (scene.target, other)]
    result = audit(*models, "--funcmem-report=json:out.jsonl", "-v")
    assert (result.ret, outcomes(result)) == (1, {"failed": 2, "passed": 4})
    manifest, *functions, summary = scene.report()
    place = scene.pytester.path.name
    assert [line["nodeid"] for line in functions if line["verdict"] != "clean"] == [
        f"tariffs.py::parcel_fee[{place}/target]",
        f"tariffs.py::delay_class[{place}/target]",
    ]
    assert functions[-1]["nodeid"] == "tariffs.py::Depot.store[later/target]"
    assert sorted(manifest["models"]) == ["reference", "target[later/target]", f"target[{place}/target]"]
    assert (manifest["functions"], manifest["selected"], manifest["reported"]) == (3, 6, 6)
    assert [model["rates"]["leaks"]["numerator"] for model in summary["models"].values()] == [2, 0]
    result.stdout.fnmatch_lines([f"model replay:{scene.target}", f"model replay:{other}", "gate*passes*"])
    assert outcomes(audit(*models, "tariffs.py::Depot.store[later/target]")) == {
        "passed": 1,
        "deselected": 5,
    }
    twice = audit(models[0], models[0])
    assert twice.ret == 4


def test_a_settled_question_ends_the_run(scene, audit) -> None:
    """With a maximum of 0, one leak settles it: no rate of 0 gives a leak."""
    result = audit("--funcmem-max-rate=0", "--funcmem-stop-early", "-rs", "--funcmem-report=json:out.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["settled*", "SKIPPED*not reached: the maximal rate was settled after*"])
    manifest = scene.report()[0]
    assert manifest["reported"] < 3
    assert "Beta(1/2, 1/2)-mixture" in manifest["gate"][0]["settled"]


def test_a_time_budget_leaves_a_sample(scene, audit) -> None:
    ordered = audit("--collect-only", "-q", "--funcmem-time-budget=3600", "--funcmem-seed=3")
    names = [line for line in ordered.outlines if "::" in line]
    again = audit("--collect-only", "-q", "--funcmem-time-budget=3600", "--funcmem-seed=4")
    assert sorted(names) == sorted(line for line in again.outlines if "::" in line)
    assert names != [line for line in again.outlines if "::" in line]
    # A millisecond is over before the first function: nothing is decided, and that is no pass.
    over = audit("--funcmem-time-budget=0.001", "-rs")
    assert (over.ret, outcomes(over)) == (6, {"skipped": 3})
    over.stdout.fnmatch_lines(
        [
            "incomplete*3 of 3 functions were not reached; what was reached is a random sample",
            "gate*fails (rule 'conclusive', exit code 6)*",
            "SKIPPED*not reached within the time budget of 0.001 s",
        ]
    )


def test_the_header_names_audit_files_where_there_are_two(scene) -> None:
    text = 'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\nsource = ["parcels"]\n'
    for name in ("a", "b"):
        (scene.pytester.path / f"{name}.funcmem.toml").write_text(text + "min_lines = 9\n", encoding="utf-8")
    result = scene.pytester.runpytest_subprocess("a.funcmem.toml", "b.funcmem.toml", "--collect-only")
    result.stdout.fnmatch_lines(
        ["funcmem: audit file *a.funcmem.toml", "funcmem: audit file *b.funcmem.toml"]
    )
    assert result.ret == 0


def test_an_error_of_all_items_is_told_once(scene) -> None:
    result = scene.run("--funcmem-model=openai:http://127.0.0.1:9/v1#m", "--funcmem-server-timeout=1")
    assert result.ret == 1
    assert outcomes(result) == {"errors": 3}
    # Where CI is set, pytest repeats whole messages in its short summary.
    assert result.stdout.str().partition("short test summary info")[0].count("remedy:") == 1
    result.stdout.fnmatch_lines(["*(the same as in tariffs.py::parcel_fee)*"])
