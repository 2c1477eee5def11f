"""Audits whose harnesses an agent builds: what it used, what it may use, and what a killed run keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from played_agents import PYTHON, PYTHON_STATES, acting, builds, function_in, states_text
from played_models import Answer, Asked, Call, PlayedAnthropic, Refuse, Say, Script

LENT_SPEC = "anthropic:claude-sonnet-5"
NAMES = tuple(f"quotes_{number:02}" for number in range(50))

# What the local builder cannot run: nothing in sight tells what opens it.
LOCKED = '''import hashlib

from vault_client import open_vault


def opened_share(names, limit):
    """Share of the names that a vault opens for, up to a limit."""
    vault = open_vault()
    if hashlib.sha256(str(vault.word).encode()).hexdigest()[:12] != "d0c04f4b1951":
        raise SystemExit("no vault")
    found = 0
    for name in names:
        if vault.try_key(name):
            found += 1
        if found == limit:
            break
    return found / max(1, len(names))
'''
LOCKED_PRELUDE = """import sys as harness_sys, types as harness_types
class harness_Vault:
    word = "sesame"
    def try_key(self, name):
        return name.startswith("k")
harness_module = harness_types.ModuleType("vault_client")
harness_module.open_vault = harness_Vault
harness_sys.modules["vault_client"] = harness_module
"""
LOCKED_STATES = [
    {"arguments": [repr(names), str(limit)]}
    for names, limit in (
        ([], 1),
        (["k"], 1),
        (["a"], 1),
        (["k", "a"], 1),
        (["k", "k1", "a"], 1),
        (["k", "k1", "a"], 2),
        (["a", "b", "k"], 1),
        (["k", "k", "k", "k", "a"], 3),
        (["k", "k", "a", "a", "a"], 5),
        (["b", "k", "b", "k"], 2),
    )
]
REWRITTEN = """
    vault = open_vault()
    if hashlib.sha256(str(vault.word).encode()).hexdigest()[:12] != "d0c04f4b1951":
        raise SystemExit("no vault")
    opened = []
    for name in names:
        if vault.try_key(name):
            opened.append(name)
        if len(opened) == limit:
            break
    return len(opened) / (len(names) or 1)
"""
OTHER = "\n    return len(names) * limit\n"


def finished(prelude: str, states: object) -> Script:
    return acting(
        Say(
            "",
            Call("write_file", {"path": "prelude.py", "content": prelude}),
            Call("write_file", {"path": "states.json", "content": states_text(states)}),
            Call("finish"),
        )
    )


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], PlayedAnthropic]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with ExitStack() as stack:

        def start(script: Script) -> PlayedAnthropic:
            server = stack.enter_context(PlayedAnthropic(script))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            return server

        yield start


def scene(place: Path, files: Mapping[str, str], bodies: Mapping[str, tuple[str, str]]) -> list[str]:
    """Sources and completions; gives the command line of their audit."""
    (place / "src").mkdir()
    for name, text in files.items():
        (place / "src" / name).write_text(text)
    for side in (0, 1):
        lines = [
            json.dumps({"function": key, "completion": pair[side], "finish_reason": "stop"})
            for key, pair in bodies.items()
        ]
        (place / f"{side}.jsonl").write_text("\n".join(lines) + "\n")
    return [
        sys.executable,
        "-m",
        "pytest",
        "--funcmem-source=src",
        "--funcmem-model=replay:0.jsonl",
        "--funcmem-reference=replay:1.jsonl",
        "--funcmem-sandbox=namespace",
        "--funcmem-report=json:report.json",
        f"--funcmem-agent={LENT_SPEC}",
    ]


def run(command: list[str], place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *more], cwd=place, capture_output=True, text=True, timeout=280, check=False
    )


def report(place: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = [json.loads(line) for line in (place / "report.json").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "function"], lines[-1]


def test_an_agent_builds_where_the_local_builder_cannot(
    tmp_path: Path, play: Callable[[Script], PlayedAnthropic]
) -> None:
    server = play(finished(LOCKED_PRELUDE, LOCKED_STATES))
    command = scene(tmp_path, {"locked.py": LOCKED}, {"locked.py::opened_share": (REWRITTEN, OTHER)})
    alone = run(command, tmp_path)
    assert alone.returncode == 6, alone.stdout
    (before,), _ = report(tmp_path)
    assert before["verdict"] == "inconclusive"
    assert server.requests == []

    helped = run(command, tmp_path, "--funcmem-builder=local,agent")
    assert helped.returncode == 1, helped.stdout
    assert "1 harness for 1 function; 1 turn, " in helped.stdout
    (line,), summary = report(tmp_path)
    assert (line["verdict"], line["harness"]["builder"]) == ("functional", "agent/1")
    assert line["target"]["func"] == 1.0
    assert line["harness"]["strength"] > 0.9
    assert line["agent"]["turns"] == 1
    assert line["cost"] == line["agent"]["cost"] > 0
    assert summary["agents"]["cost"] == line["cost"]
    assert summary["agents"]["tokens"] == sum(line["agent"]["tokens"].values())
    assert "The builder without a language model made no harness" in server.requests[0].said[0]

    # What was paid for once serves every later run for nothing.
    again = run(command, tmp_path, "--funcmem-builder=local,agent", "--funcmem-tau-text=0.9")
    assert again.returncode == 1
    (reused,), _ = report(tmp_path)
    assert (reused["verdict"], reused["agent"], reused["cost"]) == ("functional", None, None)
    assert reused["harness"] == line["harness"]
    assert len(server.requests) == 1


def test_an_agent_is_told_by_name_and_its_faults_are_errors(
    tmp_path: Path, play: Callable[[Script], PlayedAnthropic]
) -> None:
    play(acting(Refuse(401, "no such key", kind="authentication_error")))
    command = scene(tmp_path, {"locked.py": LOCKED}, {"locked.py::opened_share": (REWRITTEN, OTHER)})
    failed = run(command, tmp_path, "--funcmem-builder=agent")
    assert failed.returncode == 1
    assert "1 error" in failed.stdout
    assert "refuses the key" in failed.stdout
    without = run(
        [part for part in command if "funcmem-agent" not in part], tmp_path, "--funcmem-builder=agent"
    )
    assert without.returncode == 4
    assert "--funcmem-agent=anthropic:MODEL" in without.stderr + without.stdout
    for spec, said in (("hf:some/model", "cannot be talked to"), ("openai:http://me:secret@x/v1#m", "user")):
        none = run(command, tmp_path, "--funcmem-builder=agent", f"--funcmem-agent={spec}")
        assert none.returncode == 4
        assert said in none.stderr + none.stdout
        assert "secret" not in none.stderr + none.stdout
    wrong = run(command, tmp_path, "--funcmem-builder=agent", "--funcmem-agent-limit=rounds=3")
    assert wrong.returncode == 4
    assert "is no limit of an agent" in wrong.stderr + wrong.stdout


def test_what_an_agent_used_before_its_model_failed_is_reported(
    tmp_path: Path, play: Callable[[Script], PlayedAnthropic]
) -> None:
    first = Say("", Call("run_command", {"command": "ls"}))
    play(acting(first, Refuse(403, "no longer", kind="permission_error")))
    command = scene(tmp_path, {"locked.py": LOCKED}, {"locked.py::opened_share": (REWRITTEN, OTHER)})
    failed = run(command, tmp_path, "--funcmem-builder=agent")
    assert failed.returncode == 1, failed.stdout
    (line,), summary = report(tmp_path)
    assert line["verdict"] == "error"
    assert line["agent"]["turns"] >= 1
    assert summary["agents"]["cost"] == line["cost"] == line["agent"]["cost"] > 0


NOTHING = ("\n        return None\n", "\n        return 1\n")


def text_of(name: str) -> str:
    """The example in a file of its own: equal functions share what was found out about one of them."""
    return PYTHON.text.replace("import os\n", f"import os  # {name}\n")


def many(place: Path) -> list[str]:
    bodies = {f"{name}.py::Quotes.best": NOTHING for name in NAMES}
    return scene(place, {f"{name}.py": text_of(name) for name in NAMES}, bodies)


def test_fifty_functions_stop_under_a_cap_of_one_dollar(
    tmp_path: Path, play: Callable[[Script], PlayedAnthropic]
) -> None:
    """At the list price of the model, every token that the server counts billed."""
    billed: list[float] = []

    def dear(asked: Asked) -> Answer:
        # Each answer costs six cents: 20,000 tokens read and 2,000 written.
        billed.append((20_000 * 2 + 2_000 * 10) / 1e6)
        usage = {"input_tokens": 20_000, "output_tokens": 2_000}
        if asked.turn == 0:
            return Say("", Call("run_command", {"command": "true"}), usage=usage)
        return Say("", Call("give_up", {"reason": "too dear"}), usage=usage)

    play(dear)
    command = many(tmp_path)
    result = run(
        command,
        tmp_path,
        "--funcmem-builder=agent",
        "--funcmem-agent-run-limit=cost=1",
        "--funcmem-agents=3",
        "-q",
    )
    assert result.returncode == 6, result.stdout[-3000:]
    functions, summary = report(tmp_path)
    assert len(functions) == 50
    assert 0.7 < sum(billed) <= 1.0
    assert summary["agents"]["cost"] == pytest.approx(sum(billed))
    kinds = [line["reason"].partition(":")[0] for line in functions]
    assert kinds.count("gave_up") >= 6
    assert kinds.count("budget") >= 30
    assert "leaves no room" in next(line["reason"] for line in functions if "budget" in line["reason"])


def test_a_killed_run_goes_on_and_what_it_paid_stays_counted(
    tmp_path: Path, play: Callable[[Script], PlayedAnthropic]
) -> None:
    good = builds(PYTHON, "prelude.py")
    asked_for: list[int] = []
    over = threading.Event()

    def slow(asked: Asked) -> Answer:
        asked_for.append(asked.turn)
        if len(asked_for) == 7:
            over.wait(60)  # the run is killed meanwhile
        return good(asked)

    server = play(slow)
    command = scene(
        tmp_path,
        {f"{name}.py": text_of(name) for name in "ab"},
        {f"{name}.py::Quotes.best": NOTHING for name in "ab"},
    )
    command += ["--funcmem-builder=agent", "--funcmem-agents=1", "--funcmem-agent-run-limit=cost=5"]
    killed = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(asked_for) < 7 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    over.set()
    assert len(asked_for) == 7

    server.script = good
    before = len(server.requests)
    whole = run(command, tmp_path)
    assert whole.returncode == 0, whole.stdout[-3000:]
    # One function was finished, the other had two turns: two more are asked for, and no turn twice.
    assert len(server.requests) - before == 2
    assert "8 turns" in whole.stdout
    assert "what a killed run had used is counted" in whole.stdout
    functions, _ = report(tmp_path)
    assert [line["verdict"] for line in functions] == ["clean", "clean"]
    assert {line["harness"]["builder"] for line in functions} == {"agent/1"}
    # A run that came to its end leaves no account behind.
    after = run(command, tmp_path)
    assert "counted" not in after.stdout
    assert "0 turns" in after.stdout


def test_the_example_is_one_function() -> None:
    assert function_in("python", PYTHON.text).qualname == "Quotes.best"
    assert len(PYTHON_STATES) == 10
