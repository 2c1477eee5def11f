"""Candidates of ten inputs per second: warm containers, the same worker undocked, a fresh container each.

    python benchmarks/sandbox.py [--seconds S] [--rounds N]

Needs a Docker engine, and root for the undocked worker. The ways are measured in turn, round after round, so
that what else the machine does falls on all of them; medians are printed. On a busy machine the scheduler
gives all containers together one share and each undocked process one of its own, which lowers the ratio: the
load before and after stands in the JSON.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import resource
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox import namespace_sandbox
from pytest_funcmem.sandbox.channel import TaskEnd, WorkerChannel
from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox
from pytest_funcmem.sandbox.launch import BOOT, INTERPRETER_OPTIONS, setup_message, worker_config
from pytest_funcmem.sandbox.namespace_sandbox import NamespaceSandbox
from pytest_funcmem.sandbox.pool import WarmSandbox, Worker

PROGRAMS = {"bench": Path(__file__).with_name("sandbox_program.py")}
CODE = """
def f(words, width):
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        lines.append(line)
    return lines
"""
CANDIDATE = SandboxTask(
    program="bench",
    payload=json.dumps(
        {"code": CODE, "function": "f", "inputs": [[["some", "words"] * n, 5 + n] for n in range(10)]}
    ).encode(),
)
FLOOD_MIB = 1024

# The undocked worker works on a root of its own, for it needs /work, and is not isolated beyond that.
UNDOCKED_BOOT = BOOT.replace(
    "from worker import supervisor\n",
    "from worker import linux, supervisor\n"
    "for path in ('/work', '/tmp', '/dev/shm'):\n"
    "    linux.mount('tmpfs', path, 'tmpfs', 0, 'mode=1777' if path != '/work' else 'mode=755')\n",
)


class UndockedWorker:
    """The worker as it runs in a container, without the container."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        command = [
            "unshare",
            "--mount",
            "--pid",
            "--uts",
            "--propagation=private",
            "--fork",
            "--kill-child",
            "--",
        ]
        command += [namespace_sandbox.base_interpreter(), *INTERPRETER_OPTIONS, "-c", UNDOCKED_BOOT]
        self._process, self._stream = namespace_sandbox.spawn(command)
        self._channel = WorkerChannel(self._stream)
        setup = setup_message(
            programs=sources,
            config=worker_config(mode="uid", first_uid=0x6000_0000, uids=4096),
            root=namespace_sandbox.private_root(as_root=False),
        )
        self.about: Mapping[str, object] = self._channel.start(setup, timeout_s=20.0)

    def fits(self, limits: Limits) -> bool:
        """Whatever the limits."""
        return True

    def run(self, task: SandboxTask) -> TaskEnd:
        """Run one task."""
        return self._channel.run(task, grace_s=20.0)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def stop(self) -> None:
        """End it."""
        self.kill()
        self._process.wait()
        self._stream.close()


class UndockedSandbox(WarmSandbox):
    """Warm workers without isolation, to compare with."""

    name = "undocked"
    _advice_where_none_starts = "be root"

    def _prepare(self) -> None:
        return

    def _release(self) -> None:
        return

    def _start_worker(self, limits: Limits) -> Worker:
        return UndockedWorker(self._sources)

    def _must_replace(self, end: TaskEnd) -> str | None:
        return None


def candidates_per_s(sandbox: WarmSandbox, *, at_once: int, seconds: float) -> float:
    """Run candidates for a while from as many threads as are to be busy."""
    end = time.monotonic() + seconds

    def work() -> int:
        count = 0
        while time.monotonic() < end:
            result = sandbox.run(CANDIDATE)
            if result.records[-1:] != (b"done",):
                raise RuntimeError(f"the candidate did not run: {result}")
            count += 1
        return count

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        total = sum(future.result() for future in [threads.submit(work) for _ in range(at_once)])
    return total / (time.monotonic() - start)


def flood_host_mb(sandbox: WarmSandbox) -> float:
    """Growth of this process' peak memory, in MB, while a candidate prints 1 GiB."""
    sandbox.run(CANDIDATE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = SandboxTask(
        program="bench",
        payload=json.dumps({"flood_mib": FLOOD_MIB}).encode(),
        limits=Limits(wall_s=300.0),
    )
    result = sandbox.run(task)
    if result.outcome != "ended" or len(result.stdout) != task.limits.output_bytes:
        raise RuntimeError(f"the flood did not run through: {result.outcome}")
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / 1e6


@contextmanager
def opened_sandboxes() -> Iterator[dict[str, WarmSandbox]]:
    """Open every way of running that this user may."""
    with ExitStack() as stack:
        ways: dict[str, WarmSandbox] = {
            "warm": DockerSandbox(programs=PROGRAMS, workers=2),
            "fresh": DockerSandbox(programs=PROGRAMS, workers=2, tasks_per_worker=1),
            "namespace": NamespaceSandbox(programs=PROGRAMS, workers=2),
        }
        if os.geteuid() == 0:
            ways["bare"] = UndockedSandbox(programs=PROGRAMS, workers=2)
        for sandbox in ways.values():
            stack.enter_context(sandbox)
        yield ways


def main() -> None:
    """Measure, print a table, and one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each way")
    options = parser.parse_args()
    load = os.getloadavg()
    rates: dict[str, dict[int, list[float]]] = {}
    with opened_sandboxes() as ways:
        flood = flood_host_mb(ways["warm"])
        for _ in range(options.rounds):
            for name, sandbox in ways.items():
                for at_once in (1, 2):
                    rate = candidates_per_s(sandbox, at_once=at_once, seconds=options.seconds)
                    rates.setdefault(name, {}).setdefault(at_once, []).append(rate)
    medians = {name: [round(statistics.median(at[n]), 1) for n in (1, 2)] for name, at in rates.items()}
    print(f"{'candidates of 10 inputs per second':36}{'1 at once':>12}{'2 at once':>12}")
    for name, (one, two) in medians.items():
        print(f"{name:36}{one:12.1f}{two:12.1f}")
    print(f"host memory while a candidate prints 1 GiB: {flood:.1f} MB")
    bare = medians.get("bare")
    if bare is not None:
        print(f"warm / bare at 2 at once: {medians['warm'][1] / bare[1]:.2f}")
    print(f"warm / fresh at 2 at once: {medians['warm'][1] / medians['fresh'][1]:.1f}")
    print(
        json.dumps(
            {
                "warm_per_s": medians["warm"],
                "bare_per_s": bare,
                "fresh_per_s": medians["fresh"],
                "flood_host_mb": round(flood, 1),
                "namespace_per_s": medians["namespace"],
                "cores": os.cpu_count(),
                "load": [round(load[0], 1), round(os.getloadavg()[0], 1)],
            }
        )
    )


if __name__ == "__main__":
    main()
