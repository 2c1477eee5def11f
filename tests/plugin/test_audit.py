"""An audit as its users run it: verdicts, selection, exit codes, reports."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FUNCMEM = str(Path(sys.executable).with_name("funcmem"))


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return {key: value for key, value in result.parseoutcomes().items() if key != "seconds"}


def test_verdicts_become_outcomes(scene) -> None:
    result = scene.run("--funcmem-report=json:out.jsonl")
    assert result.ret == 1
    assert outcomes(result) == {"failed": 2, "passed": 1}
    result.stdout.fnmatch_lines(
        [
            "FAILED tariffs.py::parcel_fee - functional: *",
            "FAILED tariffs.py::delay_class - verbatim: *",
        ]
    )
    manifest, *functions, summary = scene.report()
    assert manifest["kind"] == "manifest"
    assert summary["kind"] == "summary"
    verdicts = {line["nodeid"]: line["verdict"] for line in functions}
    assert verdicts == {
        "tariffs.py::parcel_fee": "functional",
        "tariffs.py::delay_class": "verbatim",
        "tariffs.py::Depot.store": "clean",
    }
    fee = functions[0]
    assert fee["target"]["func"] == 1.0
    assert fee["reference"]["func"] < 0.8
    assert fee["harness"]["coverage"] >= 0.8


def test_failure_report_reads_well(scene) -> None:
    result = scene.run("-k", "parcel_fee")
    text = result.stdout.str()
    for needed in ("functional", "SIM_func", "table = [", "strength", "--funcmem-source="):
        assert needed in text
    start = next(n for n, line in enumerate(result.outlines) if line.startswith("FUNCTIONAL LEAK"))
    end = next(n for n, line in enumerate(result.outlines) if "funcmem audit" in line)
    longest = max(result.outlines[start:end], key=len)
    assert len(longest) <= 100, longest


def test_selection(scene) -> None:
    assert outcomes(scene.run("-k", "Depot")) == {"passed": 1, "deselected": 2}
    assert outcomes(scene.run("--deselect", "tariffs.py::parcel_fee")) == {
        "passed": 1,
        "failed": 1,
        "deselected": 1,
    }
    assert outcomes(scene.run("-m", "not funcmem")) == {"deselected": 3}
    assert outcomes(scene.run("tariffs.py::Depot.store")) == {"passed": 1, "deselected": 2}


def test_rerun_of_what_failed(scene) -> None:
    scene.run()
    assert outcomes(scene.run("--lf")) == {"failed": 2, "deselected": 1}
    assert outcomes(scene.run("-x")) == {"failed": 1}
    assert outcomes(scene.run("--maxfail=2")) == {"failed": 2}


def test_collect_only_lists_node_ids(scene) -> None:
    result = scene.run("--collect-only", "-q")
    assert result.ret == 0
    assert [line for line in result.outlines if "::" in line] == [
        "tariffs.py::parcel_fee",
        "tariffs.py::delay_class",
        "tariffs.py::Depot.store",
    ]
    assert not (scene.pytester.path / ".funcmem").exists()


def test_second_audit_reuses_everything(scene) -> None:
    scene.run("--funcmem-report=json:first.jsonl")
    result = scene.run("--funcmem-report=json:second.jsonl")
    result.stdout.fnmatch_lines(["*built 0 harnesses*"])

    def without_times(name: str) -> list[dict[str, object]]:
        lines = scene.report(name)
        for line in lines:
            for key in ("seconds", "started", "finished"):
                line.pop(key, None)
        return lines

    assert without_times("first.jsonl") == without_times("second.jsonl")


def test_drops_are_counted_in_the_header(scene) -> None:
    (scene.source / "short.py").write_text("def tiny(a):\n    return a + 1\n", encoding="utf-8")
    result = scene.run()
    result.stdout.fnmatch_lines(["*left out*2 too short*"])


def test_conftest_of_the_audited_tree_is_never_imported(scene) -> None:
    planted = "import pathlib\npathlib.Path(__file__).with_name('planted').write_text('ran')\n"
    (scene.source / "conftest.py").write_text(planted, encoding="utf-8")
    assert scene.run().ret == 1
    assert not (scene.source / "planted").exists()
    inside = scene.pytester.runpytest_subprocess(
        "--rootdir", str(scene.source), str(scene.source), *scene.options
    )
    assert inside.ret == 1
    assert not (scene.source / "planted").exists()


def test_spot_check_of_the_current_directory(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = "import pathlib\npathlib.Path(__file__).with_name('planted').write_text('ran')\n"
    (scene.source / "conftest.py").write_text(planted, encoding="utf-8")
    (scene.source / "test_own.py").write_text("def test_own():\n    assert False\n", encoding="utf-8")
    monkeypatch.chdir(scene.source)
    result = scene.pytester.run(sys.executable, "-m", "pytest", *scene.options)
    assert outcomes(result) == {"failed": 2, "passed": 1}
    assert not (scene.source / "planted").exists()


def test_audit_file(scene) -> None:
    text = (
        'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\nsource = ["parcels"]\n'
        'sandbox = "namespace"\nmin_lines = 9\nreport = ["json:from-file.jsonl"]\n'
    )
    (scene.pytester.path / "release.funcmem.toml").write_text(text, encoding="utf-8")
    scene.pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")
    run = scene.pytester.runpytest_subprocess
    assert outcomes(run()) == {"passed": 1}
    assert outcomes(run("release.funcmem.toml")) == {"failed": 2, "passed": 1}
    assert outcomes(run("release.funcmem.toml", "test_ordinary.py")) == {"failed": 2, "passed": 2}
    assert outcomes(run("--funcmem")) == {"failed": 2, "passed": 2}
    one = run("release.funcmem.toml::tariffs.py::Depot.store")
    assert outcomes(one) == {"passed": 1}
    one.stdout.fnmatch_lines(["report  json: *from-file.narrowed.jsonl"])
    # The report that the audit file asks for is that of the whole audit, so the rerun's goes beside it.
    assert [line["nodeid"] for line in scene.report("from-file.narrowed.jsonl")[1:-1]] == [
        "release.funcmem.toml::tariffs.py::Depot.store"
    ]
    assert len(scene.report("from-file.jsonl")[1:-1]) == 3


def test_functions_that_a_replay_file_does_not_name_are_deselected(scene, make_replay) -> None:
    make_replay(scene.target, {"tariffs.py::Depot.store": "\n        return 0\n"})
    assert outcomes(scene.run()) == {"passed": 1, "deselected": 2}
    make_replay(scene.target, {"elsewhere.py::f": "\n    return 0\n"})
    result = scene.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*names none of the collected functions*"])


def test_too_little_conclusive_is_exit_6(scene, make_replay) -> None:
    (scene.source / "tariffs.py").unlink()
    steps = "".join(f"    total = total * {number} + 1;\n" for number in range(3, 12))
    text = f"int weigh(int total) {{\n{steps}    return total;\n}}\n"
    (scene.source / "weigh.c").write_text(text, encoding="utf-8")
    make_replay(scene.target, {"weigh.c::weigh": "\n    return total * 2;\n}\n"})
    make_replay(scene.reference, {"weigh.c::weigh": "\n    return 1;\n}\n"})
    result = scene.run("--funcmem-report=json:out.jsonl")
    assert result.ret == 6
    assert outcomes(result) == {"skipped": 1}
    line = scene.report()[1]
    assert line["verdict"] == "inconclusive"
    assert line["reason"].startswith("language: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--funcmem-model=hf:./nowhere"], "*was not found*"),
        (["--funcmem-model=replay:./nowhere.jsonl"], "*cannot be read*"),
        (["--funcmem-tau-func=1.5"], "*is not a value of --funcmem-tau-func*"),
        (["--funcmem-report=html"], "*does not name a report*"),
        (["--funcmem-report=sonnet:out"], "*no report format*"),
        (["--funcmem-preset=nothing"], "*no preset*"),
        (["--funcmem-source=./nowhere"], "*nowhere*"),
        (["--funcmem-min-lines=60"], "*at least 60 and at most 50*"),
        (["parcels"], "*not both*"),
        (["tariffs.py::nothing"], "*No audited function*"),
    ],
)
def test_usage_errors_say_what_and_what_to_do(scene, arguments: list[str], message: str) -> None:
    result = scene.run(*arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message, "*remedy:*"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert len(result.errlines) < 25


def test_a_reference_is_required(scene) -> None:
    result = scene.pytester.runpytest_subprocess(
        f"--funcmem-source={scene.source}", f"--funcmem-model=replay:{scene.target}"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*No reference model was given*"])


def test_function_that_breaks_the_audit_is_an_error(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be written is no verdict."""
    blocked = scene.pytester.path / "blocked"
    blocked.write_text("a file where the store should be", encoding="utf-8")
    result = scene.run(f"--funcmem-store={blocked}")
    assert result.ret in (1, 4)
    assert "passed" not in outcomes(result)
    assert "Traceback" not in result.stdout.str()


def test_prompts_command(scene) -> None:
    result = scene.pytester.run(FUNCMEM, "prompts", str(scene.source), "-o", "prompts.jsonl", "--min-lines=9")
    assert result.ret == 0
    lines = [json.loads(line) for line in Path("prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["function"] for line in lines] == [
        "tariffs.py::parcel_fee",
        "tariffs.py::delay_class",
        "tariffs.py::Depot.store",
    ]
    assert all(line["prompt"].endswith(":") for line in lines)


def test_audit_command_keeps_the_trees_configuration_out(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(scene.pytester.path / "cache"))
    planted = "import pathlib\npathlib.Path(__file__).with_name('planted').write_text('ran')\n"
    for name in ("conftest.py", "evil.py", "rich.py"):
        (scene.source / name).write_text(planted, encoding="utf-8")
    (scene.source / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n", encoding="utf-8")
    monkeypatch.chdir(scene.source)
    result = scene.pytester.run(FUNCMEM, "audit", ".", *scene.options)
    assert outcomes(result) == {"failed": 2, "passed": 1}
    assert not (scene.source / "planted").exists()
    result.stdout.fnmatch_lines(["funcmem audit . --funcmem-model=*", "*tariffs.py::parcel_fee*"])
    assert not any(line.startswith("pytest --funcmem") for line in result.outlines)


def test_a_run_that_stopped_early_says_so(scene) -> None:
    result = scene.run("-x", "--funcmem-report=json:out.jsonl")
    result.stdout.fnmatch_lines(["incomplete*2 of 3 functions were not reached"])
    manifest = scene.report()[0]
    assert (manifest["functions"], manifest["selected"], manifest["reported"]) == (3, 3, 1)
