"""Harnesses leave an audit as directories, are proved again, edited, and come back into another audit."""

from __future__ import annotations

import json
import sys
from pathlib import Path

FUNCMEM = str(Path(sys.executable).with_name("funcmem"))


def test_a_verdict_is_rerun_from_nothing_but_a_directory_and_an_edit_comes_back(scene) -> None:
    first = scene.run("--funcmem-report=harness:harnesses", "-k", "parcel_fee or store")
    assert "harness: " in first.stdout.str()
    root = scene.pytester.path / "harnesses"
    fee = root / "tariffs.py" / "parcel_fee"
    assert sorted(path.name for path in root.rglob("harness.json")) == ["harness.json"] * 2
    again = scene.run("--funcmem-report=harness:harnesses", "-k", "store")  # the other one stays
    assert "harness: " in again.stdout.str()
    (scene.source / "tariffs.py").unlink()

    again = scene.pytester.run(FUNCMEM, "harness", "run", str(root), "--sandbox=namespace")
    assert again.ret == 0, again.outlines
    again.stdout.fnmatch_lines(
        ["tariffs.py::Depot.store: proved again, 10 states", "*clean: *", "*as the audit decided*"]
    )
    again.stdout.fnmatch_lines(["tariffs.py::parcel_fee: proved again*", "*functional: *", "*as the audit*"])

    shown = scene.pytester.run(FUNCMEM, "harness", "show", str(fee))
    assert shown.ret == 0
    shown.stdout.fnmatch_lines(["tariffs.py::parcel_fee*local/*", "*10 input states*", "*result: *"])

    # A person adds a state that they care for.
    path = fee / "harness.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    states = content["harness"]["states"]
    states.append({**states[0], "arguments": ["20.5", "'island'"], "keywords": [], "answers": []})
    path.write_text(json.dumps(content), encoding="utf-8")
    code = scene.pytester.path / "other.txt"
    code.write_text('\n    return 21.0 if zone == "island" else 0.0\n', encoding="utf-8")
    edited = scene.pytester.run(FUNCMEM, "harness", "run", str(fee), "--sandbox=namespace", f"--code={code}")
    assert edited.ret == 0, edited.outlines
    edited.stdout.fnmatch_lines(["*proved again, as edited, 11 states", "*other.txt: SIM_func 0.* *="])

    # A state that cannot be run is not lost in silence.
    whole = path.read_text(encoding="utf-8")
    states.append({**states[0], "arguments": ["20.5 +", "'island'"], "keywords": [], "answers": []})
    path.write_text(json.dumps(content), encoding="utf-8")
    broken = scene.pytester.run(FUNCMEM, "harness", "run", str(fee), "--sandbox=namespace")
    broken.stdout.fnmatch_lines(
        ["*as edited, 11 states", "  left out 1 of the states*(number 12 of the file)*"]
    )
    path.write_text(whole, encoding="utf-8")

    imported = scene.pytester.run(
        FUNCMEM, "harness", "import", str(fee), "--store=kept", "--sandbox=namespace"
    )
    assert imported.ret == 0, imported.outlines
    (scene.source / "tariffs.py").write_text(
        (fee / "function.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    scene.run("--funcmem-store=kept", "--funcmem-report=json:out.jsonl", "-k", "parcel_fee")
    (function,) = [line for line in scene.report() if line["kind"] == "function"]
    assert function["harness"]["builder"].endswith(", edited")
    assert function["harness"]["inputs"] == 11
    assert function["verdict"] == "functional"


def test_what_does_not_hold_here_may_not_judge(scene) -> None:
    scene.run("--funcmem-report=harness:harnesses", "-k", "parcel_fee")
    path = scene.pytester.path / "harnesses" / "tariffs.py" / "parcel_fee" / "harness.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["harness"]["states"] = content["harness"]["states"][:3]
    path.write_text(json.dumps(content), encoding="utf-8")
    run = scene.pytester.run(FUNCMEM, "harness", "run", "harnesses", "--sandbox=namespace")
    assert run.ret == 6
    run.stdout.fnmatch_lines(["tariffs.py::parcel_fee: may not judge here, too_few_states: *"])
    imported = scene.pytester.run(
        FUNCMEM, "harness", "import", "harnesses", "--store=kept", "--sandbox=namespace"
    )
    assert imported.ret == 6
    assert not list(Path("kept").rglob("imported/*/*.json"))


def test_a_path_without_harnesses_is_a_usage_error(scene) -> None:
    run = scene.pytester.run(FUNCMEM, "harness", "show", str(scene.source))
    assert run.ret == 4
    run.stderr.fnmatch_lines(["funcmem: There is no harness at or below this path.*"])


def test_a_file_is_no_place_for_harnesses(scene) -> None:
    (scene.pytester.path / "taken").write_text("", encoding="utf-8")
    run = scene.run("--funcmem-report=harness:taken")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["*Harnesses are written below a directory*"])
