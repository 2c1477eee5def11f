"""What breaks around an audit: the engine, a container, the disk, the audit's own process.

Nothing that was finished may be lost, nothing may come out as a verdict that is none, and what cannot go on
says so. The engine that is stopped here is one of its own, on a socket of its own.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_funcmem.core.errors import SandboxError
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import PROGRAMS, Program, execute
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

KILLS = 20
SEED = 20260
FUNCTIONS = 3

# ------------------------------------------------------------------------------------------- an audit


def original(number: int) -> str:
    return f'''

def grade_{number}(points, bonus):
    """Grade of a sum."""
    label = "none"
    total = points + bonus * {number + 1}
    if total > {60 + number}:
        label = "high"
    elif total > {30 + number}:
        label = "middle"
    elif total > {5 + number}:
        label = "low"
    else:
        label = "none"
    return label + "{number}"
'''


def rewritten(number: int) -> str:
    return f"""
    total = bonus * {number + 1} + points
    for limit, name in (({60 + number}, "high"), ({30 + number}, "middle"), ({5 + number}, "low")):
        if total > limit:
            return f"{{name}}{number}"
    return "none{number}"
"""


def another(number: int) -> str:
    return f"\n    return str(points - bonus - {number})\n"


class Bench:
    """A source tree and two replay files in a directory, audited in processes of their own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "src").mkdir()
        text = '"""Grades."""\n' + "".join(original(number) for number in range(FUNCTIONS))
        (place / "src" / "grades.py").write_text(text, encoding="utf-8")
        for name, make in (("target", rewritten), ("reference", another)):
            self._replay(f"{name}.jsonl", make)

    def _replay(self, name: str, make: Callable[[int], str]) -> None:
        lines = [
            json.dumps(
                {
                    "function": f"grades.py::grade_{number}",
                    "completion": make(number),
                    "finish_reason": "stop",
                }
            )
            for number in range(FUNCTIONS)
        ]
        (self.place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def start(self, *options: str, store: str = "store", **environment: str) -> subprocess.Popen[str]:
        """Start an audit."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--rootdir={self.place}",
            "--funcmem-model=replay:target.jsonl",
            "--funcmem-reference=replay:reference.jsonl",
            "--funcmem-source=src",
            "--funcmem-inputs=5",
            "--funcmem-min-inputs=4",
            f"--funcmem-store={store}",
            *options,
        ]
        return subprocess.Popen(
            command,
            cwd=self.place,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str, store: str = "store", **environment: str) -> tuple[int, str]:
        """Audit and wait; gives exit status and output."""
        process = self.start(*options, store=store, **environment)
        output, _nothing = process.communicate(timeout=300)
        return process.returncode, output

    def report(self, name: str) -> list[dict[str, object]]:
        """The lines of a JSON report, without what differs from run to run."""
        lines = [json.loads(line) for line in (self.place / name).read_text("utf-8").splitlines()]
        for line in lines:
            for key in ("seconds", "started", "finished"):
                line.pop(key, None)
        return lines

    def verdicts(self, name: str) -> list[object]:
        """The verdicts of a report, in order."""
        return [line["verdict"] for line in self.report(name) if line["kind"] == "function"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """What an audit that nothing happens to comes to, and in how many seconds."""

    report: list[dict[str, object]]
    verdicts: list[object]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Undisturbed]:
    """Audits once in a sandbox of a name, and remembers."""

    @functools.cache
    def audit(name: str) -> Undisturbed:
        bench = Bench(tmp_path_factory.mktemp(f"undisturbed-{name}"))
        start = time.monotonic()
        status, output = bench.run(f"--funcmem-sandbox={name}", "--funcmem-report=json:whole.jsonl")
        assert status == 1, output
        assert bench.verdicts("whole.jsonl") == ["functional"] * FUNCTIONS
        return Undisturbed(
            report=bench.report("whole.jsonl"),
            verdicts=bench.verdicts("whole.jsonl"),
            seconds=time.monotonic() - start,
        )

    return audit


def needs(condition: bool, what: str) -> None:
    """Fail where CI is meant to have it; skip elsewhere."""
    if not condition:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must have {what}", pytrace=False)
        pytest.skip(f"needs {what}")


def wait_for(condition: Callable[[], bool], *, limit_s: float = 30.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)


# ------------------------------------------------------------------------------------ engine and containers


class Engine:
    """A Docker engine of its own, that may be killed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.address = f"unix://{place}/socket"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it over whatever an earlier one left, and wait until it answers."""
        containerd = self.place / "exec" / "containerd" / "containerd.pid"
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(containerd.read_text()), signal.SIGKILL)
        for left in (containerd, self.place / "pid"):
            left.unlink(missing_ok=True)
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd",
                    f"--host={self.address}",
                    f"--data-root={self.place}/data",
                    f"--exec-root={self.place}/exec",
                    f"--pidfile={self.place}/pid",
                    f"--containerd-namespace={self.place.name}",
                    f"--containerd-plugins-namespace={self.place.name}-plugins",
                    "--storage-driver=overlay2",
                    "--bridge=none",
                    "--iptables=false",
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self.answers, limit_s=60.0)

    def answers(self) -> bool:
        """Whether it answers."""
        return self.client_run("version") == 0

    def client_run(self, *command: str) -> int:
        """Run a command of the client against it; gives its exit status."""
        return subprocess.run(
            ["docker", "--host", self.address, *command], capture_output=True, check=False, timeout=60
        ).returncode

    def kill(self, how: signal.Signals) -> None:
        """Kill the engine itself with a signal, and wait for its end."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)

    def remove(self) -> None:
        """End it and all that belongs to it."""
        if not self.answers():
            self.start()
        # An audit whose engine was killed could not remove its containers, and they outlive an engine.
        client = ["docker", f"--host={self.address}"]
        listed = subprocess.run([*client, "ps", "-aq"], check=True, capture_output=True, text=True).stdout
        if listed.split():
            subprocess.run([*client, "rm", "--force", *listed.split()], check=True, capture_output=True)
        if self._process is not None and self._process.poll() is None:
            self.kill(signal.SIGTERM)
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self.place / "exec" / "containerd" / "containerd.pid").read_text()), signal.SIGKILL)
        for left in processes_with(str(self.place)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        wait_for(lambda: not processes_with(str(self.place)))
        for point in reversed(mounts_below(self.place)):
            subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)
        shutil.rmtree(self.place)


def mount_points() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [line.split(" ")[4] for line in lines]


def mounts_below(place: Path) -> list[str]:
    return [point for point in mount_points() if point.startswith(f"{place}/")]


def processes_with(text: str) -> list[int]:
    """Living processes whose command line holds a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[tuple[Engine, str]]:
    """A private engine and the id of the image on it; the machine's engine is only asked for the image."""
    docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
    needs(os.geteuid() == 0 and shutil.which("dockerd") is not None, "root and dockerd for an engine to kill")
    needs(docker_sandbox.docker_answers() is None, "a running Docker engine to take the image from")
    with open_sandbox("docker", programs=PROGRAMS, workers=1) as sandbox:
        image = str(sandbox.identity()["image"])
    # Socket paths are short. A name that begins with "_", as mkdtemp may give, is no namespace of containerd.
    place = Path("/tmp") / f"funcmem-engine-{secrets.token_hex(4)}"
    place.mkdir(mode=0o700)
    private = Engine(place)
    try:
        private.start()
        archive = private.place / "image.tar"
        subprocess.run(["docker", "save", f"--output={archive}", image], check=True)
        assert private.client_run("load", f"--input={archive}") == 0
        archive.unlink()
        yield private, image
    finally:
        private.remove()


# The client library leaves a socket to the garbage collector where it meets an engine that has just died.
abandoned_sockets = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def on_private(engine: tuple[Engine, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmSandbox]:
    """A sandbox on the private engine, which is up again afterwards."""
    private, image = engine
    monkeypatch.setenv("DOCKER_HOST", private.address)
    with open_sandbox("docker", programs=PROGRAMS, workers=2, image=image) as sandbox:
        yield sandbox
        if not private.answers():
            private.start()


def square(sandbox: WarmSandbox, number: int) -> object:
    """Run a small function that takes a moment."""
    text = "def square(n):\n    end = 0\n    for _ in range(200_000):\n        end += 1\n    return n * n\n"
    program = Program(text=text, qualname="square", line=1, language="python")
    states = (InputState(arguments=(str(number),)),)
    execution = execute(sandbox, program, states, coverage=False, state_timeout_s=20.0)
    (output,) = execution.outputs
    assert output.outcome == "returned", output
    return output.value


class Load:
    """Two threads that run tasks all the time and keep what came of each."""

    def __init__(self, sandbox: WarmSandbox) -> None:
        self.finished: dict[int, object] = {}
        self.errors: list[Exception] = []
        self._sandbox = sandbox
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in (0, 1)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        while not self._stop.is_set():
            try:
                self.finished[number] = square(self._sandbox, number)
            except Exception as error:
                self.errors.append(error)
                time.sleep(0.1)
            number += 2

    def progress(self, count: int) -> None:
        """Wait until so many more tasks are finished."""
        wanted = len(self.finished) + count
        wait_for(lambda: len(self.finished) >= wanted, limit_s=90.0)


@abandoned_sockets
@pytest.mark.docker
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_engine_lost_and_back_under_running_tasks(
    engine: tuple[Engine, str], on_private: WarmSandbox, how: signal.Signals
) -> None:
    private, _image = engine
    with Load(on_private) as load:
        load.progress(4)
        private.kill(how)
        wait_for(lambda: len(load.errors) >= 2, limit_s=90.0)  # no task waits for ever
        private.start()
        load.progress(4)
    # Every result is right, and every failure is one of the sandbox that says what to do.
    assert all(value == number * number for number, value in load.finished.items())
    for error in load.errors:
        assert isinstance(error, SandboxError), error
        assert error.remedy


@abandoned_sockets
@pytest.mark.docker
def test_engine_that_stays_away(engine: tuple[Engine, str], on_private: WarmSandbox) -> None:
    private, _image = engine
    assert square(on_private, 3) == 9
    private.kill(signal.SIGTERM)
    start = time.monotonic()
    with pytest.raises(SandboxError) as caught:
        square(on_private, 3)
    assert time.monotonic() - start < 30.0
    assert "docker" in str(caught.value)
    assert caught.value.remedy
    private.start()
    assert square(on_private, 3) == 9


@abandoned_sockets
@pytest.mark.docker
def test_containers_killed_under_running_tasks(engine: tuple[Engine, str], on_private: WarmSandbox) -> None:
    private, _image = engine
    with Load(on_private) as load:
        for _ in range(3):
            load.progress(2)
            running = subprocess.run(
                ["docker", "--host", private.address, "ps", "--quiet"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            private.client_run("kill", *running)
        load.progress(4)
    assert all(value == number * number for number, value in load.finished.items())
    # One loss costs a task nothing; a second in a row, which may happen here, is an error and no outcome.
    assert all(isinstance(error, SandboxError) for error in load.errors)


@pytest.mark.docker
def test_audit_whose_engine_is_killed(
    engine: tuple[Engine, str], bench: Bench, undisturbed: Callable[[str], Undisturbed]
) -> None:
    whole = undisturbed("docker")
    private, image = engine
    options = ("--funcmem-sandbox=docker", f"--funcmem-image={image}")
    audit = bench.start(*options, "--funcmem-report=json:broken.jsonl", DOCKER_HOST=private.address)
    try:
        wait_for(lambda: finished(bench.place / "store", "harness") >= 1, limit_s=120.0)
        private.kill(signal.SIGKILL)
        output, _nothing = audit.communicate(timeout=300)
    finally:
        if audit.poll() is None:
            audit.kill()
        private.start()
    assert audit.returncode == 1
    verdicts = bench.verdicts("broken.jsonl")
    assert "error" in verdicts
    assert all(verdict in ("error", right) for verdict, right in zip(verdicts, whole.verdicts, strict=True))
    assert "remedy" in output
    kept = finished(bench.place / "store", "harness")
    status, output = bench.run(*options, "--funcmem-report=json:again.jsonl", DOCKER_HOST=private.address)
    assert status == 1
    assert f"built {FUNCTIONS - kept} harness" in output
    # The manifests differ in that one was given its image.
    assert bench.report("again.jsonl")[1:] == whole.report[1:]


def test_worker_lost_under_running_tasks() -> None:
    with open_sandbox("namespace", programs=PROGRAMS, workers=2) as sandbox, Load(sandbox) as load:
        for _ in range(5):
            load.progress(2)
            for worker in list(sandbox._busy):
                worker.kill()
        load.progress(4)
    assert all(value == number * number for number, value in load.finished.items())
    assert all(isinstance(error, SandboxError) for error in load.errors)


def finished(store: Path, kind: str) -> int:
    return len(list((store / "v1" / kind).rglob("*.json")))


# --------------------------------------------------------------------------------------------- disk full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    needs(os.geteuid() == 0, "root to mount a small file system")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    needs(mounted.returncode == 0, "a kernel that lets root mount file systems")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, leave_kib: int) -> Path:
    """Fill a file system but for so much."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - leave_kib * 1024)
    return filler


@pytest.mark.parametrize("leave_kib", [12, 24])
def test_disk_full_in_the_store(
    bench: Bench, small_disk: Path, leave_kib: int, undisturbed: Callable[[str], Undisturbed]
) -> None:
    sandbox = "--funcmem-sandbox=namespace"
    whole = undisturbed("namespace")
    filler = fill(small_disk, leave_kib)
    status, output = bench.run(sandbox, "--funcmem-report=json:broken.jsonl", store=str(small_disk))
    assert status == 1, output
    verdicts = bench.verdicts("broken.jsonl")
    assert "error" in verdicts
    assert all(verdict in ("error", right) for verdict, right in zip(verdicts, whole.verdicts, strict=True))
    assert "No space left on device" in output
    assert "free space there, or name another directory with --funcmem-store" in output
    filler.unlink()
    status, output = bench.run(sandbox, "--funcmem-report=json:again.jsonl", store=str(small_disk))
    assert status == 1, output
    assert bench.report("again.jsonl") == whole.report


# -------------------------------------------------------------------------------- the audit itself killed


def start_time(pid: int) -> str | None:
    """When a process started, as text; None where it is gone or only its entry is left."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in ("Z", "X") else fields[18]


def descendants(pid: int) -> dict[int, str]:
    """All processes below one, with their start times."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found: dict[int, str] = {}
    pending = list(children.get(pid, ()))
    while pending:
        one = pending.pop()
        started = start_time(one)
        if started is not None:
            found[one] = started
        pending += children.get(one, ())
    return found


def containers_of(pids: set[int]) -> list[str]:
    docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
    client = docker_sandbox.connect()
    try:
        return [
            container.id
            for container in client.containers.list(
                all=True, filters={"label": docker_sandbox.OWNER_LABEL}, ignore_removed=True
            )
            if int(container.labels[docker_sandbox.OWNER_LABEL]) in pids
        ]
    finally:
        client.close()


@pytest.mark.parametrize("name", ["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def test_audit_killed_at_random_moments(
    bench: Bench, name: str, undisturbed: Callable[[str], Undisturbed]
) -> None:
    if name == "docker":
        docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
        needs(docker_sandbox.docker_answers() is None, "a running Docker engine")
    moments = random.Random(SEED)
    option = f"--funcmem-sandbox={name}"
    whole = undisturbed(name)
    before = set(mount_points())
    kills, rounds, owners, left = 0, 0, set(), {}
    while kills < KILLS // 2:
        rounds += 1
        store = f"store{rounds}"
        for attempt in range(KILLS):
            audit = bench.start(option, f"--funcmem-report=json:again{rounds}.jsonl", store=store)
            owners.add(audit.pid)
            try:
                # Early moments and late ones; without end, a round would never finish.
                audit.communicate(timeout=moments.uniform(0.3, whole.seconds) if attempt < 8 else 300)
            except subprocess.TimeoutExpired:
                left.update(descendants(audit.pid))
                audit.send_signal(signal.SIGKILL)
                audit.communicate()
                kills += 1
                if (bench.place / f"again{rounds}.jsonl").exists():  # killed as it was about to end
                    assert bench.report(f"again{rounds}.jsonl") == whole.report
                continue
            assert audit.returncode == 1
            break
        assert bench.report(f"again{rounds}.jsonl") == whole.report
    wait_for(lambda: not [pid for pid, started in left.items() if start_time(pid) == started])
    if name == "docker":
        wait_for(lambda: not containers_of(owners))
    # An engine mounts for whoever else uses it.
    added = [point for point in mount_points() if point not in before and "/docker/" not in point]
    assert added == []
    assert left, "it was never killed while something ran"
