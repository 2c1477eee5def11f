"""The program that runs compiled Java functions. It lives inside the sandbox.

``main(payload, emit)`` starts a virtual machine for the task, hands the task over, and passes its records on.
A machine that died or had to be stopped in an input state is followed by another that begins at the next one.
Nothing here may be relied upon outside the sandbox: the code under test runs in the same machine as the
harness, and can say what it likes.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

JAR = "/opt/funcmem/harness.jar"
ARCHIVE = "/opt/funcmem/harness.jsa"
FLAGS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Xlog:disable",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:-ShowCodeDetailsInExceptionMessages",
    # Every object has the same hash, so that no order and no text depends on addresses.
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    "-Djava.awt.headless=true",
    "-Duser.timezone=UTC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
)
_MOST_RECORD_BYTES = 8 << 20
_SPENT = 75
"""Exit status of a machine that left a state behind that it could not stop."""
_MOST_MACHINES = 40
_START_S = 300.0
_GRACE_S = 20.0
_PATIENCE = 12
"""The machine itself cuts states by processor time; this is for one that no longer can."""


class _Machine:
    """A running virtual machine, and the records that it gives."""

    def __init__(self, request: bytes, heap_mib: int) -> None:
        heap = (f"-Xms{heap_mib // 4}m", f"-Xmn{heap_mib // 5}m", f"-Xmx{heap_mib}m")
        command = ["java", *FLAGS, f"-XX:SharedArchiveFile={ARCHIVE}", *heap, "-jar", JAR]
        # The working directory is emptied for each state, so the request cannot lie in it.
        path = Path(tempfile.gettempdir()) / "request"
        path.write_bytes(request)
        with path.open("rb") as file:
            self._process = subprocess.Popen(
                command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        path.unlink()
        assert self._process.stdout is not None
        self._pipe = self._process.stdout.fileno()

    def record(self, timeout_s: float) -> bytes | None:
        """The next record; None where the machine ended or did not keep to the form.

        Raises:
            TimeoutError: It said nothing for so long.
        """
        deadline = time.monotonic() + timeout_s
        head = self._exactly(4, deadline)
        if head is None:
            return None
        (length,) = struct.unpack(">i", head)
        if not 0 <= length <= _MOST_RECORD_BYTES:
            return None
        return self._exactly(length, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                raise TimeoutError
            part = os.read(self._pipe, count - len(data))
            if not part:
                return None
            data += part
        return bytes(data)

    def is_spent(self) -> bool:
        """Whether it ended by itself, since a state had left it of no more use."""
        try:
            return self._process.wait(_GRACE_S) == _SPENT
        except subprocess.TimeoutExpired:
            return False

    def end(self) -> None:
        """Stop it, if it has not ended."""
        self._process.kill()
        self._process.wait()
        os.close(self._pipe)
        self._process.stdout = None


def _lost(program: int, state: int, outcome: str, detail: str) -> bytes:
    header = {"kind": "state", "program": program, "index": state, "outcome": outcome, "detail": detail}
    return json.dumps({**header, "seconds": 0.0}).encode("ascii") + b"\n"


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run compiled programs on input states.

    Args:
        payload: A line of JSON, then a task of the virtual machine, as ``harness.compiled.java`` writes them.
        emit: Called with the bytes of each record.
    """
    head, _, body = payload.partition(b"\n")
    task = json.loads(head)
    todo = [
        (place, number, state)
        for place, (number, count) in enumerate(task["programs"])
        for state in range(count)
    ]
    patience = _PATIENCE * task["timeout_ms"] / 1000 + _GRACE_S
    done = 0
    for _ in range(_MOST_MACHINES):
        if done == len(todo):
            return
        place, _number, state = todo[done]
        machine = _Machine(struct.pack(">ii", place, state) + body, task["heap_mib"])
        first = True
        try:
            while done < len(todo):
                _place, number, state = todo[done]
                outcome, detail = "missing", "the virtual machine ended"
                try:
                    record = machine.record(_START_S if first else patience)
                except TimeoutError:
                    record, outcome, detail = None, "timeout", "it did not end in time"
                if record is None and not first and outcome == "missing" and machine.is_spent():
                    break  # it said all that it had to say; another goes on at the same place
                first = False
                done += 1
                if record is None:
                    emit(_lost(number, state, outcome, detail))
                    break
                emit(record)
        finally:
            machine.end()
