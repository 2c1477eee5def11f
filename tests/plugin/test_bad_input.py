"""What cannot be used ends in one screen that names the place and the remedy; never in a verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_funcmem.cli import main


def usage_error(result: pytest.RunResult, *messages: str) -> None:
    assert result.ret == 4, result.stdout.str()
    result.stderr.fnmatch_lines([*messages])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert len(result.errlines) < 25
    assert "passed" not in result.stdout.str()


def with_source(scene, source: Path) -> pytest.RunResult:
    return scene.pytester.runpytest_subprocess(f"--funcmem-source={source}", *scene.options)


def test_source_without_functions(scene) -> None:
    empty = scene.pytester.mkdir("nothing")
    usage_error(with_source(scene, empty), "*no function to audit*", "*remedy:*")
    (empty / "short.py").write_text("def f(a):\n    return a\n", encoding="utf-8")
    usage_error(with_source(scene, empty), "*no function to audit*", "*1 too_short*")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("binary.py", b"\x7fELF\x00\x00\x01", "*binary.py*"),
        ("latin.py", "café = 1\n".encode("latin-1"), "*latin.py*"),
        ("text.xyz", b"words", "*text.xyz*"),
        ("rows.jsonl", b'{"content": "def f(): pass"}\n{"content": \n', "*rows.jsonl:2*"),
        ("rows.jsonl", b'{"code": "def f(): pass"}\n', "*rows.jsonl:1*"),
    ],
)
def test_source_files_that_cannot_be_read(scene, name: str, content: bytes, message: str) -> None:
    path = scene.pytester.path / name
    path.write_bytes(content)
    usage_error(with_source(scene, path), message, "*remedy:*")


def test_windows_newlines_and_byte_order_mark_change_nothing(scene) -> None:
    path = scene.source / "tariffs.py"
    scene.run("--funcmem-report=json:unix.jsonl")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    result = scene.run("--funcmem-report=json:windows.jsonl")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(["*built 0 harnesses*"])
    assert [line["verdict"] for line in scene.report("windows.jsonl")[1:-1]] == [
        line["verdict"] for line in scene.report("unix.jsonl")[1:-1]
    ]


def test_symlink_loop(scene) -> None:
    (scene.source / "again").symlink_to(scene.source, target_is_directory=True)
    result = scene.run("--collect-only", "-q")
    assert result.ret == 0
    assert len([line for line in result.outlines if "::" in line]) == 3


def test_syntax_error_half_way_loses_only_that_function(scene) -> None:
    path = scene.source / "tariffs.py"
    broken = path.read_text(encoding="utf-8").replace("    if days > 14:", "    if days > > 14:")
    path.write_text(broken, encoding="utf-8")
    result = scene.run("--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == [
        "tariffs.py::parcel_fee",
        "tariffs.py::Depot.store",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "*target.jsonl:1*"),
        ('{"function": "tariffs.py::parcel_fee"}', "*target.jsonl:1*"),
        (json.dumps({"function": "a", "completion": "b", "finish_reason": "bored"}), "*target.jsonl:1*"),
    ],
)
def test_broken_replay_line(scene, line: str, message: str) -> None:
    scene.target.write_text(line + "\n", encoding="utf-8")
    usage_error(scene.run(), message, "*remedy:*")


def test_function_named_twice_in_a_replay_file(scene) -> None:
    scene.target.write_text(scene.target.read_text(encoding="utf-8") * 2, encoding="utf-8")
    usage_error(scene.run(), "*twice*", "*target.jsonl:4*")


def test_neither_docker_nor_namespaces(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    # Inside a user namespace, its own limit on further namespaces can be set without touching the machine's.
    forbid = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"'
    inside = (
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        forbid,
        "sh",
        sys.executable,
        "-m",
        "pytest",
    )
    result = scene.pytester.run(*inside, f"--funcmem-source={scene.source}", *scene.options)
    usage_error(result, "*namespace*", "*remedy:*")


def test_docker_that_does_not_answer(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    usage_error(scene.run("--funcmem-sandbox=docker"), "*Docker*", "*remedy:*")
    auto = scene.run("--funcmem-sandbox=auto", "-k", "Depot")
    assert auto.ret == 0
    auto.stdout.fnmatch_lines(["*Docker is not used*"])


@pytest.mark.parametrize(
    "text",
    [
        "model = 3\n",
        "modell = 'hf:x'\n",
        "model = [\n",
        "",
        'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\n',
    ],
    ids=["type", "name", "syntax", "empty", "no source"],
)
def test_audit_file_that_cannot_be_used(scene, text: str) -> None:
    (scene.pytester.path / "bad.funcmem.toml").write_text(text, encoding="utf-8")
    result = scene.pytester.runpytest_subprocess("bad.funcmem.toml")
    usage_error(result, "*bad.funcmem.toml*", "*remedy:*")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_interrupt_reports_what_was_finished(scene, number: signal.Signals) -> None:
    """Both end the run, keep what was finished, and leave no process behind."""
    command = [sys.executable, "-m", "pytest", f"--funcmem-source={scene.source}", *scene.options]
    command.append("--funcmem-report=json:out.jsonl")
    process = subprocess.Popen(
        command, cwd=scene.pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    harnesses = scene.pytester.path / ".funcmem" / "v1" / "harness"
    deadline = time.monotonic() + 60
    while not list(harnesses.rglob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode in (1, 2), output
    assert "Traceback" not in output
    assert list(harnesses.rglob("*.json"))
    kinds = [line["kind"] for line in scene.report()]
    assert kinds[0] == "manifest"
    assert kinds[-1] == "summary"
    own = [
        entry
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _belongs(entry, str(scene.pytester.path))
    ]
    assert own == []


def _belongs(entry: Path, place: str) -> bool:
    try:
        return place in (entry / "cmdline").read_text() and int(entry.name) != os.getpid()
    except OSError:
        return False


def encoder(path: Path) -> Path:
    """A directory that looks like a checkpoint and is not one of a causal language model."""
    path.mkdir()
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 8, "hidden_size": 4}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    (path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", encoding="utf-8")
    return path


def test_model_that_is_not_causal_is_an_error_and_no_verdict(scene) -> None:
    model = encoder(scene.pytester.path / "encoder")
    result = scene.run(f"--funcmem-model={model}", "--funcmem-report=json:out.jsonl")
    assert result.ret == 1
    assert result.parseoutcomes() == {"errors": 3}
    result.stdout.fnmatch_lines(["*not a causal language model*", "*remedy:*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert {line["verdict"] for line in scene.report()[1:-1]} == {"error"}


def test_checkpoint_without_weights(scene) -> None:
    model = encoder(scene.pytester.path / "encoder")
    (model / "model.safetensors").unlink()
    usage_error(scene.run(f"--funcmem-model={model}"), "*no weights*", "*remedy:*")


def test_collecting_loads_no_model(scene) -> None:
    model = encoder(scene.pytester.path / "encoder")
    code = (
        "import sys, pytest\n"
        f"code = pytest.main(['--co', '-q', '--funcmem-source={scene.source}', '--funcmem-min-lines=9',"
        f" '--funcmem-model={model}', '--funcmem-reference={model}'])\n"
        "print('LOADED', int(code), *(name in sys.modules for name in ('torch', 'transformers', 'docker')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=scene.pytester.path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED 0 False False False", done.stdout


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_runtime_that_the_engine_lacks(scene) -> None:
    result = scene.run("--funcmem-sandbox=docker", "--funcmem-runtime=nosuchruntime")
    usage_error(result, "*nosuchruntime*", "*remedy:*")


def test_model_that_an_unset_variable_left_empty(scene) -> None:
    scene.pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")
    usage_error(scene.pytester.runpytest_subprocess("--funcmem-model="), "*No target model*", "*remedy:*")
    lone = scene.pytester.runpytest_subprocess(f"--funcmem-source={scene.source}")
    usage_error(lone, "*No target model*", "*remedy:*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n2", "--dist=each"], "*each function once*"),
        (["--dist=load", "--tx=ssh=elsewhere"], "*on other machines*"),
    ],
)
def test_distribution_that_would_not_be_one_audit_is_refused(
    scene, arguments: list[str], message: str
) -> None:
    usage_error(scene.run(*arguments), message, "*remedy:*")


@pytest.mark.parametrize(
    ("name", "more", "messages"),
    [
        ("Depot.__init__", [], ["*its body has 2 lines*", "*least 9 lines*", "*Add --funcmem-min-lines=2 *"]),
        ("delay_class", ["--funcmem-max-lines=10"], ["*has 11 lines*", "*most 10*", "*max-lines=11 *"]),
        (
            "parcel_fe",
            [],
            ["*No audited function*parcel_fe'*", "*such as tariffs.py::parcel_fee", "*remedy:*"],
        ),
        ("delay_class", ["--funcmem-filter=labels:labels.jsonl"], ["*rated it too low*", "*at least*"]),
        ("unnamed", [], ["*a replay file does not complete it*", "*remedy:*"]),
    ],
)
def test_a_node_id_that_is_not_audited_says_why(
    scene, make_replay, name: str, more: list[str], messages: list[str]
) -> None:
    """Named after the source, and within an audit file, where pytest alone would say that nothing matches."""
    if name == "unnamed":
        source = scene.source / "tariffs.py"
        text = source.read_text(encoding="utf-8")
        body = text[text.index("def delay_class") :].split("\n\n\n")[0]
        source.write_text(f"{text}\n\n{body.replace('delay_class', name)}\n", encoding="utf-8")
    labels = {"function": "tariffs.py::delay_class", "severity": 1}
    (scene.pytester.path / "labels.jsonl").write_text(json.dumps(labels) + "\n", encoding="utf-8")
    usage_error(scene.run(*more, f"tariffs.py::{name}"), *messages)
    audit = (
        'model = "replay:target.jsonl"\nreference = "replay:reference.jsonl"\nsource = ["parcels"]\n'
        'sandbox = "namespace"\nmin_lines = 9\n'
    )
    (scene.pytester.path / "own.funcmem.toml").write_text(audit, encoding="utf-8")
    command = [f"own.funcmem.toml::tariffs.py::{name}", *more]
    usage_error(scene.pytester.runpytest_subprocess(*command), *messages)


def test_a_node_id_without_its_model(scene) -> None:
    models = [f"--funcmem-model=replay:{path}" for path in (scene.target, scene.reference)]
    usage_error(scene.run(*models, "tariffs.py::delay_class"), "*none of the models*", "*[[]reference[]]*")


def test_workers_of_a_bad_audit_file_do_not_hide_why(scene) -> None:
    (scene.pytester.path / "bad.funcmem.toml").write_text("min_linesx = 9\n", encoding="utf-8")
    usage_error(
        scene.pytester.runpytest_subprocess("bad.funcmem.toml", "-n2"), "*'min_linesx' is no setting*"
    )


def test_hub_id_out_of_reach(scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    usage_error(scene.run("--funcmem-model=nobody/nothing"), "*nobody/nothing*", "*remedy:*")


def test_hostile_names_are_harmless(scene, make_replay) -> None:
    """Names of files and rows can neither recolour the terminal nor break a node id or an XML report."""
    text = (scene.source / "tariffs.py").read_text(encoding="utf-8")
    for name in ("red\x1b[31m[bold].py", "two\nlines.py"):
        (scene.source / name).write_text(text, encoding="utf-8")
    Path(os.fsdecode(os.fsencode(scene.source) + b"/bad\xff.py")).write_text(text, encoding="utf-8")
    rows = scene.pytester.path / "rows.jsonl"
    rows.write_text(json.dumps({"path": "a\x1b[31m::b\n.py", "content": text}) + "\n", encoding="utf-8")
    make_replay(scene.target, {"tariffs.py::Depot.store": "\n        return 1\n"})
    result = scene.run(f"--funcmem-source={rows}", "--collect-only", "-q")
    names = [line for line in result.outlines if "Depot.store" in line]
    assert names == ["tariffs.py::Depot.store"]
    for spec in (scene.target, scene.reference):
        keys = [
            f"{name}::Depot.store"
            for name in (
                "bad\\udcff.py",
                "red\\x1b[31m[bold].py",
                "two\\nlines.py",
                "a\\x1b[31m\\x3a\\x3ab\\n.py",
            )
        ]
        make_replay(spec, dict.fromkeys(keys, "\n        return 1\n"))
    result = scene.run(f"--funcmem-source={rows}", "--junitxml=out.xml", "-v")
    assert result.parseoutcomes()["passed"] == 4
    assert "\x1b[31m" not in result.stdout.str()
    assert len(list(ElementTree.parse(scene.pytester.path / "out.xml").iter("testcase"))) == 4


def test_prompts_that_cannot_be_written(scene) -> None:
    result = scene.pytester.run(
        sys.executable, "-m", "pytest_funcmem.cli", "prompts", str(scene.source), "-o", "/nowhere/out.jsonl"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*cannot be written*", "*remedy:*"])


def test_prompts_name_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    body = "\n".join(f"    x = x * {number} + 1" for number in range(12))
    Path("a.py").write_text(f"def long(x):\n{body}\n    return x\n\n\ndef short(x):\n    return x\n")
    assert main(["prompts", "a.py", "-o", "out.jsonl"]) == 0
    assert capsys.readouterr().err == "1 prompt written; left out: 1 too short\n"
    assert main(["prompts", "a.py", "-o", "none.jsonl", "--min-lines", "40"]) == 4
    assert "functions of 40 to 50 body lines; left out: 2 too short" in capsys.readouterr().err
    assert not Path("none.jsonl").exists()


def test_the_command_refuses_as_pytest_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["compare", "a.jsonl"])
    assert stopped.value.code == 4
    assert "arguments are required: B" in capsys.readouterr().err


def test_an_audit_file_is_sent_to_pytest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "release.funcmem.toml"
    path.write_text("source = ['a.py']\n")
    assert main(["harness", "export", str(tmp_path / "out"), str(path)]) == 4
    assert f"pytest {path}" in capsys.readouterr().err


def test_a_setting_nearly_right_is_guessed(scene) -> None:
    path = scene.pytester.path / "near.funcmem.toml"
    path.write_text("source = ['sources']\nmin_line = 3\n")
    result = scene.pytester.runpytest(str(path))
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*'min_line' is no setting.*", "*Write 'min_lines'[?]*"])
