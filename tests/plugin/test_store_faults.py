"""What can befall a store while audits work on it: kills, a full disk, damage, company."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_funcmem.store import DirectoryStore
from pytest_funcmem.store.upkeep import contents, damaged
from tests.conftest import ROOT, require

FUNCMEM = str(Path(sys.executable).with_name("funcmem"))


def verdicts(lines: list[dict[str, object]]) -> dict[object, object]:
    return {line["nodeid"]: line["verdict"] for line in lines if line["kind"] == "function"}


def without_times(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    return [
        {key: value for key, value in line.items() if key not in ("seconds", "started", "finished")}
        for line in lines
    ]


SHORT = """
def fee(weight: int) -> int:
    if weight > 20:
        return 9
    return weight + 4


def zone(days: int) -> str:
    if days > 7:
        return "late"
    return "on time"


def area(width: int, height: int) -> int:
    size = width * height
    return size + 1
"""


@pytest.fixture
def short_audit(pytester: pytest.Pytester, make_replay) -> list[str]:
    """Options of an audit that takes little time: three short functions, all of them leaked."""
    source = pytester.mkdir("short")
    (source / "short.py").write_text(SHORT, encoding="utf-8")
    rewritten = {
        "short.py::fee": "\n    return 9 if weight > 20 else weight + 4\n",
        "short.py::zone": "\n    return {True: 'late', False: 'on time'}[days > 7]\n",
        "short.py::area": "\n    return 1 + height * width\n",
    }
    target = make_replay(pytester.path / "target.jsonl", rewritten)
    reference = make_replay(pytester.path / "reference.jsonl", dict.fromkeys(rewritten, "\n    return 0\n"))
    return [
        f"--funcmem-source={source}",
        f"--funcmem-model=replay:{target}",
        f"--funcmem-reference=replay:{reference}",
        "--funcmem-sandbox=namespace",
        "--funcmem-min-lines=2",
    ]


def test_audits_killed_at_random_moments(pytester: pytest.Pytester, short_audit: list[str]) -> None:
    """``FUNCMEM_KILLS=200`` makes it two hundred of audits; with the writers it is always more than that."""
    kills = int(os.environ.get("FUNCMEM_KILLS") or 40)
    command = [sys.executable, str(ROOT / "tests" / "live" / "kill_audits.py")]
    done = subprocess.run(
        [*command, str(pytester.path), str(kills), "seed", "--", *short_audit],
        capture_output=True,
        text=True,
        check=False,
        timeout=120 + 6 * kills,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    sys.stdout.write(f"{found}\n")
    assert found["killed"] == kills
    assert (found["entries_lost"], found["entries_damaged"]) == (0, 0)
    assert found["reports_equal"] == found["completed"] >= 2


def test_writers_killed_anywhere(tmp_path: Path) -> None:
    """What a writer had told of as stored is there after its end by SIGKILL, two hundred times."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_funcmem.store import DirectoryStore\n"
        "import os, time\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    name = line.strip()\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        store = DirectoryStore(Path(sys.argv[1]))\n"
        "        for number in range(1_000_000):\n"
        "            store.put('record', f'{name}-{number}', {'value': [name, number] * 200})\n"
        "            print(f'stored {name}-{number}', flush=True)\n"
        "    print(f'writer {pid}', flush=True)\n"
        "    os.waitpid(pid, 0)\n"
        "    print('dead', flush=True)\n"
    )
    draw = random.Random("writers")
    writers = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writers.stdin is not None
    assert writers.stdout is not None
    told = []
    assert writers.stdout.readline() == "ready\n"
    for number in range(200):
        writers.stdin.write(f"w{number}\n")
        writers.stdin.flush()
        lines = [writers.stdout.readline().split()]
        wanted = draw.randrange(5)  # entries that it gets done at least, however slow the machine
        while not any(line[:1] == ["writer"] for line in lines) or (
            sum(line[:1] == ["stored"] for line in lines) < wanted
        ):
            lines.append(writers.stdout.readline().split())
        time.sleep(draw.uniform(0.0, 0.01))
        pid = int(next(line[1] for line in lines if line[:1] == ["writer"]))
        os.kill(pid, signal.SIGKILL)
        while lines[-1] != ["dead"]:
            lines.append(writers.stdout.readline().split())
        told += [line[1] for line in lines if line[:1] == ["stored"] and len(line) == 2]
    writers.stdin.close()
    writers.stdout.close()
    assert writers.wait(10) == 0
    store = DirectoryStore(tmp_path)
    assert len(told) > 200
    for name in told:
        writer, number = name.split("-")
        assert store.get("record", name) == {"value": [writer, int(number)] * 200}
    assert list(damaged(tmp_path)) == []


def test_full_disk_is_no_verdict_and_room_mends_it(scene) -> None:
    """A real file system of 24 KiB, in a mount namespace of its own."""
    disk = scene.pytester.mkdir("disk")
    require(os.geteuid() == 0, "the right to mount a file system")
    options = [f"--funcmem-source={scene.source}", *scene.options, f"--funcmem-store={disk}/store"]
    audit = f"{sys.executable} -m pytest {' '.join(options)}"
    script = (
        f"mount -t tmpfs -o size=24k none {disk}\n"
        f"{audit} --funcmem-report=json:full.jsonl; echo full: $?\n"
        f"mount -o remount,size=64m {disk}\n"
        f"{audit} --funcmem-report=json:room.jsonl; echo room: $?\n"
        f"{FUNCMEM} store verify --store={disk}/store; echo verify: $?\n"
    )
    result = scene.pytester.run("unshare", "--mount", "sh", "-c", script)
    result.stdout.fnmatch_lines(
        [
            "*No space left on device*",
            "*remedy:*free space*",
            "full: 1",
            "room: 1",
            "0 of * damaged",
            "verify: 0",
        ]
    )
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "error" in verdicts(scene.report("full.jsonl")).values()
    assert sorted(verdicts(scene.report("room.jsonl")).values()) == ["clean", "functional", "verbatim"]  # type: ignore[type-var]


def test_machines_share_a_store(pytester: pytest.Pytester, short_audit: list[str]) -> None:
    """Each machine has a host name and process ids of its own, so processes of two may have the same id."""
    require(os.geteuid() == 0, "the right to make namespaces of host names and process ids")
    store = pytester.path / "store"
    writer = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_funcmem.store import DirectoryStore\n"
        "store = DirectoryStore(Path(sys.argv[1]))\n"
        "for number in range(300):\n"
        "    store.put('record', f'same-{number}', {'value': [number] * 200})\n"
        "    store.put('record', f'{sys.argv[2]}-{number}', {'value': [number] * 200})\n"
    )
    audit = f"{sys.executable} -m pytest {' '.join(short_audit)} --funcmem-store={store} -p no:cacheprovider"
    machines = [f"{audit} --funcmem-report=json:{name}.jsonl" for name in ("one", "two")]
    machines += [f'{sys.executable} -c "$WRITER" {store} {name}' for name in ("three", "four")]
    # Company that tidies up, as long as the others work.
    tidy = f"until test -e done; do {FUNCMEM} store gc --store={store} || true; done"
    running = [
        subprocess.Popen(
            [
                *("unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"),
                *("sh", "-c", f"hostname machine-{number}; {command}"),
            ],
            cwd=pytester.path,
            env={**os.environ, "WRITER": writer},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number, command in enumerate([*machines, tidy])
    ]
    try:
        texts = [process.communicate(timeout=180)[0] for process in running[:-1]]
    finally:
        (pytester.path / "done").touch()
        tidied = running[-1].communicate(timeout=60)[0]
    assert [process.returncode for process in running] == [1, 1, 0, 0, 0], [*texts, tidied]
    assert list(damaged(store)) == []
    kept = DirectoryStore(store)
    for name in ("same", "three", "four"):
        found = [kept.get("record", f"{name}-{number}") for number in range(300)]
        assert found == [{"value": [number] * 200} for number in range(300)]
    alone = [*short_audit, f"--funcmem-store={store}", "--funcmem-report=json:alone.jsonl"]
    result = pytester.runpytest_subprocess(*alone)
    result.stdout.fnmatch_lines(["*built 0 harnesses, made 0 runs*"])
    reports = [
        [json.loads(line) for line in (pytester.path / f"{name}.jsonl").read_text().splitlines()]
        for name in ("one", "two", "alone")
    ]
    assert without_times(reports[0]) == without_times(reports[1]) == without_times(reports[2])
    assert sorted(verdicts(reports[0]).values()) == ["functional"] * 3  # type: ignore[type-var]


def test_damage_is_named_and_made_again(scene) -> None:
    scene.run("--funcmem-report=json:one.jsonl")
    first = scene.report("one.jsonl")
    store = scene.pytester.path / ".funcmem"
    harnesses = sorted((store / "v1" / "harness").rglob("*.json"))
    runs = sorted((store / "v1" / "execution").rglob("*.json"))
    harnesses[0].write_bytes(harnesses[0].read_bytes()[: harnesses[0].stat().st_size // 2])
    runs[0].write_text(json.dumps({**json.loads(runs[0].read_text()), "format": 9}), encoding="utf-8")
    before = contents(store).kinds
    again = scene.run("--funcmem-report=json:again.jsonl")
    assert without_times(scene.report("again.jsonl")) == without_times(first)
    again.stdout.fnmatch_lines(
        ["*built 1 harness, made 1 run*", f"store*{harnesses[0].name} is damaged or cut short*"]
    )
    again.stdout.fnmatch_lines([f"store*{runs[0].name} has format 9, not 1; it was made again"])
    assert list(damaged(store)) == []
    assert [kind[:2] for kind in contents(store).kinds] == [kind[:2] for kind in before]
