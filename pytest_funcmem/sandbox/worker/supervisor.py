"""The process that talks to the host: it hands each request to a fresh candidate and reports what came of it.

It never runs, imports or parses anything of a candidate: requests and records pass through as bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from . import candidate, cleanup, framing, linux, zygote

_HOST_IN = 0
_HOST_OUT = 1
_NUMBER = struct.Struct(">i")
_END = struct.Struct(">id")
_CHUNK = 65_536
_DEATH_GRACE_S = 10.0
_MEMORY_PERIOD_S = 0.05
_PROCESSOR_PERIOD_S = 0.1
_PROCESSORS = os.cpu_count() or 1
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


class WorkerBrokenError(Exception):
    """The worker itself cannot go on; the host starts another."""


def main(config: dict[str, Any], programs: dict[str, str]) -> None:
    """Serve the host on standard input and output until it goes away.

    Args:
        config: As ``launch.worker_config`` makes it.
        programs: Text of the programs by name.
    """
    os.umask(0o022)
    try:
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        supervisor = Supervisor(config, programs)
        framing.write_frame(_HOST_OUT, framing.READY, json.dumps(_identity()).encode())
        while True:
            kind, body = framing.read_frame(_HOST_IN)
            if kind != framing.TASK:
                raise WorkerBrokenError(f"unexpected frame {kind}")
            supervisor.run(body)
    except framing.ChannelClosedError:
        return
    except WorkerBrokenError as exc:
        framing.write_frame(_HOST_OUT, framing.FAULT, str(exc).encode("utf-8", "replace"))


def _identity() -> dict[str, Any]:
    return {
        "implementation": sys.implementation.name,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "hash_seed_fixed": not sys.flags.hash_randomization,
    }


class Supervisor:
    """Runs one task at a time through one zygote."""

    def __init__(self, config: dict[str, Any], programs: dict[str, str]) -> None:
        self._config = config
        self._count = 0
        self._kills_before = 0
        self._outbox = framing.Outbox(_HOST_OUT)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._zygote = os.fork()
        if self._zygote == 0:
            self._control.close()
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, _HOST_IN)
            os.dup2(null, _HOST_OUT)
            os.close(null)
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            zygote.serve(theirs, config, programs)
            os._exit(0)
        theirs.close()
        answer = self._control.recv(8192)
        if answer != b"ready":
            raise WorkerBrokenError(
                "a program does not load: " + (answer.decode("utf-8", "replace") or "its process died")
            )

    def run(self, body: bytes) -> None:
        """Run one task and report records, output and end to the host."""
        (length,) = framing.LENGTH.unpack_from(body)
        limits = json.loads(body[framing.LENGTH.size : framing.LENGTH.size + length])
        request = memoryview(body)[framing.LENGTH.size + length :]
        self._count += 1
        uid = self._config["first_uid"] + self._count % self._config["uids"]
        self._kills_before = _oom_kills()
        start = time.monotonic()
        try:
            end = self._run(uid, limits, request, start)
        except WorkerBrokenError:
            if not self._out_of_memory():
                raise
            # Memory ran out and took this worker's own processes along: only the candidate can have used it.
            end = {"outcome": "memory", "seconds": time.monotonic() - start, "oom_killed": True}
            self._report(end)
            raise
        self._report(end)

    def _report(self, end: dict[str, Any]) -> None:
        self._outbox.add(framing.END, json.dumps(end).encode())
        self._outbox.flush()

    def _out_of_memory(self) -> bool:
        return _oom_kills() > self._kills_before

    def _run(self, uid: int, limits: dict[str, Any], request: memoryview, start: float) -> dict[str, Any]:
        apart = self._config["mode"] == "namespaces"
        if not apart:
            cleanup.prepare_directories(uid)
        with _Exchange(request, limits["output_bytes"], self._outbox) as exchange:
            spawn = json.dumps({"uid": uid, "limits": limits}).encode()
            socket.send_fds(self._control, [spawn], exchange.theirs)
            exchange.close_theirs()
            (victim,) = self._answer(_NUMBER)
            stopped, ended = self._watch(exchange, start, limits)
            used = self._processor_seconds() if ended is None else 0.0
            if apart:
                if ended is None:
                    _kill(victim)
            else:
                cleanup.kill_everything_of(uid)
            status, waited_for = self._answer(_END) if ended is None else ended
            seconds = time.monotonic() - start
            gone = apart or cleanup.wait_until_gone(uid)
            if exchange.drain() and stopped is None:
                stopped = "refused"
        leftovers = [] if apart else cleanup.sweep(uid)
        if not gone:
            raise WorkerBrokenError("processes of a candidate could not be killed")
        oom_killed = self._out_of_memory()
        end = describe_end(status, stopped=stopped, out_of_memory=oom_killed)
        end.update(
            seconds=seconds,
            cpu_s=max(used, waited_for),
            leftovers=[str(path)[:200] for path in leftovers[:20]],
            oom_killed=oom_killed,
        )
        return end

    def _watch(
        self, exchange: _Exchange, start: float, limits: dict[str, Any]
    ) -> tuple[str | None, tuple[int, float] | None]:
        """Move bytes until the candidate ends or must be stopped: (why stopped, status and seconds)."""
        deadline = start + limits["wall_s"]
        look = time.monotonic() + _MEMORY_PERIOD_S if self._config["watch_memory"] else deadline
        count = start + limits["cpu_s"] / _PROCESSORS  # before this, the processors' time cannot be used up
        control = self._control.fileno()
        poll = exchange.poll
        poll.register(control, select.POLLIN)
        poll.register(_HOST_IN, 0)  # hang-up only: the host sends nothing while a task runs
        try:
            while True:
                now = time.monotonic()
                if now >= deadline:
                    return "timeout", None
                if now >= look:
                    if self._memory_in_use() > limits["memory_mib"] * 1024:
                        return "memory", None
                    look = time.monotonic() + _MEMORY_PERIOD_S
                if now >= count:
                    left = limits["cpu_s"] - self._processor_seconds()
                    if left <= 0:
                        return "timeout", None
                    count = time.monotonic() + max(_PROCESSOR_PERIOD_S, left / _PROCESSORS)
                for fd, event in poll.poll((min(look, count, deadline) - now) * 1000 + 1):
                    if fd == control:
                        return None, self._answer(_END)
                    if fd == _HOST_IN:
                        if event & (select.POLLHUP | select.POLLERR):
                            raise framing.ChannelClosedError
                        continue
                    if exchange.move(fd):
                        return "refused", None
        finally:
            poll.unregister(control)
            poll.unregister(_HOST_IN)

    def _memory_in_use(self) -> int:
        """Memory of all processes of the candidate, in KiB, shared pages counted once."""
        total = 0
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in (os.getpid(), self._zygote):
                continue
            try:
                with open(f"/proc/{entry}/smaps_rollup", encoding="ascii") as file:
                    total += next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
            except (OSError, ValueError):
                continue  # it has ended meanwhile
        return total

    def _processor_seconds(self) -> float:
        """Processor seconds of the candidate's living processes, and of those that they have waited for."""
        ticks = 0
        for entry in os.listdir("/proc"):
            # The first process may be one that gathers what earlier candidates left behind.
            if not entry.isdigit() or int(entry) in (1, os.getpid(), self._zygote):
                continue
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
            except (OSError, ValueError):
                continue  # it has ended meanwhile
        return ticks / _TICKS_A_SECOND

    def _answer(self, form: struct.Struct) -> Any:
        self._control.settimeout(_DEATH_GRACE_S)
        try:
            answer = self._control.recv(8192)
        except socket.timeout:  # noqa: UP041 - another class than TimeoutError before Python 3.10
            raise WorkerBrokenError("the zygote does not answer") from None
        finally:
            self._control.settimeout(None)
        if len(answer) != form.size:
            raise WorkerBrokenError(answer.decode("utf-8", "replace") or "the zygote died")
        return form.unpack(answer)


class _Exchange:
    """The pipes of one task: request in, records, standard output and standard error out."""

    def __init__(self, request: memoryview, output_bytes: int, outbox: framing.Outbox) -> None:
        self._outbox = outbox
        self._request = request
        self._limit = output_bytes
        self._request_fd = -1
        self.theirs: list[int] = []
        self._open: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self.poll = select.poll()
        request_r, self._request_fd = os.pipe()
        self.theirs.append(request_r)
        for kind in (framing.RECORDS, framing.STDOUT, framing.STDERR):
            read, write = os.pipe()
            self.theirs.append(write)
            os.set_blocking(read, False)
            self._open[read] = kind
            # The mark that a candidate has started does not count as a record.
            self._kept[read] = -len(framing.STARTED) if kind == framing.RECORDS else 0
            self.poll.register(read, select.POLLIN)
        os.set_blocking(self._request_fd, False)
        self.poll.register(self._request_fd, select.POLLOUT)

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close_theirs()
        self._close_request()
        for fd in list(self._open):
            self._close(fd)

    def close_theirs(self) -> None:
        """Close the ends that the candidate has."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs.clear()

    def move(self, fd: int) -> bool:
        """Move what can be moved on one descriptor.

        Returns:
            Whether there were more records than the limit.
        """
        if fd == self._request_fd:
            self._send_request()
            return False
        return fd in self._open and self._receive(fd)

    def drain(self) -> bool:
        """Take what dead processes left in the pipes; whether there were more records than the limit."""
        flooded = False
        for fd in list(self._open):
            while fd in self._open:
                before = self._kept[fd]
                flooded |= self._receive(fd, forget_when_empty=True)
                if self._kept[fd] == before and flooded:
                    break
        return flooded

    def _send_request(self) -> None:
        try:
            sent = os.write(self._request_fd, self._request[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._request)  # it does not want the rest
        self._request = self._request[sent:]
        if not self._request:
            self._close_request()

    def _close_request(self) -> None:
        if self._request_fd >= 0:
            self.poll.unregister(self._request_fd)
            os.close(self._request_fd)
            self._request_fd = -1

    def _receive(self, fd: int, *, forget_when_empty: bool = False) -> bool:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            if forget_when_empty:
                self._close(fd)
            return False
        if not data:
            self._close(fd)
            return False
        keep = data[: self._limit - self._kept[fd]]
        if keep:
            self._outbox.add(self._open[fd], keep)
            self._kept[fd] += len(keep)
        return self._open[fd] == framing.RECORDS and len(keep) < len(data)

    def _close(self, fd: int) -> None:
        self.poll.unregister(fd)
        os.close(fd)
        del self._open[fd]


def describe_end(status: int, *, stopped: str | None, out_of_memory: bool) -> dict[str, Any]:
    """Turn a wait status into outcome, exit code and signal.

    Args:
        status: As ``waitpid`` gives it.
        stopped: Why the supervisor killed the candidate, if it did.
        out_of_memory: Whether the kernel has killed for memory meanwhile.
    """
    end: dict[str, Any] = {"outcome": stopped, "exit_code": None, "signal": None}
    if stopped is not None:
        return end
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL and out_of_memory:
            end["outcome"] = "memory"
        elif number == signal.SIGSYS:
            end["outcome"] = "refused"
        else:
            end.update(outcome="signal", signal=number)
    elif os.WEXITSTATUS(status) == candidate.OUT_OF_MEMORY_EXIT:
        end["outcome"] = "memory"
    else:
        end.update(outcome="ended", exit_code=os.WEXITSTATUS(status))
    return end


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may just have ended by itself
        os.kill(pid, signal.SIGKILL)


def _oom_kills() -> int:
    for path in _OOM_COUNTERS:
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    name, _, number = line.partition(" ")
                    if name == "oom_kill":
                        return int(number)
        except (OSError, ValueError):
            continue
    return 0
