"""The host's end of the channel, against workers that lie."""

from __future__ import annotations

import json
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.protocols import Limits, SandboxTask
from pytest_funcmem.sandbox.channel import WorkerChannel, WorkerLostError, encode_task, split_records
from pytest_funcmem.sandbox.worker import framing

TASK = SandboxTask(program="p", limits=Limits(output_bytes=1000))
GOOD_END = {"outcome": "ended", "exit_code": 0, "signal": None, "seconds": 0.5, "leftovers": []}


class Script:
    """A worker that says what it was told to say."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sent = b""

    def send(self, data: bytes, *, deadline: float) -> None:
        assert deadline > time.monotonic()
        self.sent += data

    def receive(self, limit: int, *, deadline: float) -> bytes:
        piece, self.data = self.data[: min(limit, 7)], self.data[min(limit, 7) :]
        return piece

    def diagnosis(self) -> str:
        return "said on the side"


def frame(kind: int, body: bytes) -> bytes:
    return framing.HEADER.pack(kind, len(body)) + body


def end(**changes: object) -> bytes:
    return frame(framing.END, json.dumps({**GOOD_END, **changes}).encode())


def record(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


UP = frame(framing.RECORDS, framing.STARTED)


def run(data: bytes) -> object:
    return WorkerChannel(Script(data)).run(TASK, grace_s=1.0)


def test_task_that_took_its_worker_along_keeps_what_it_had_emitted() -> None:
    channel = WorkerChannel(Script(UP + frame(framing.RECORDS, record(b"one") + b"\0\0\0\x09half")))
    with pytest.raises(WorkerLostError):
        channel.run(TASK, grace_s=1.0)
    end_of_task = channel.out_of_memory(seconds=1.5)
    assert end_of_task.oom_killed
    assert end_of_task.result.outcome == "memory"
    assert end_of_task.result.records == (b"one",)
    assert end_of_task.result.seconds == 1.5


def test_an_honest_worker_is_understood() -> None:
    stream = record(b"one") + record(b"") + record(b"three")
    stream = framing.STARTED + stream
    data = frame(framing.RECORDS, stream[:5]) + frame(framing.STDERR, b"err")
    data += frame(framing.RECORDS, stream[5:]) + frame(framing.STDOUT, b"out") + end(leftovers=["/tmp/x"])
    channel = WorkerChannel(Script(data))
    finished = channel.run(TASK, grace_s=1.0)
    assert finished.result.records == (b"one", b"", b"three")
    assert (finished.result.stdout, finished.result.stderr) == (b"out", b"err")
    assert (finished.result.outcome, finished.result.exit_code, finished.result.seconds) == ("ended", 0, 0.5)
    assert finished.leftovers == ("/tmp/x",)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="silence"),
        pytest.param(b"\x02\x00", id="half a header"),
        pytest.param(framing.HEADER.pack(framing.RECORDS, 2**32 - 1), id="a frame of 4 GiB"),
        pytest.param(framing.HEADER.pack(framing.STDOUT, 50) + b"short", id="a frame that ends early"),
        pytest.param(frame(99, b""), id="an unknown kind"),
        pytest.param(frame(framing.STDOUT, b"x" * 600) * 2 + end(), id="more output than the limit"),
        pytest.param(frame(framing.RECORDS, b"x" * 600) * 2 + end(), id="more records than the limit"),
        pytest.param(end(), id="a candidate that was never set up"),
        pytest.param(frame(framing.FAULT, b"broken \xff"), id="a fault"),
        pytest.param(frame(framing.END, b"{"), id="no JSON"),
        pytest.param(frame(framing.END, b"[" * 16_000), id="deep nesting"),
        pytest.param(frame(framing.END, b"\xff\xfe"), id="no UTF-8"),
        pytest.param(frame(framing.END, b"[]"), id="no object"),
        pytest.param(frame(framing.END, b" " * 20_000 + b"{}"), id="an oversized end"),
        pytest.param(UP + end(outcome="fine"), id="an unknown outcome"),
        pytest.param(UP + end(outcome=["ended"]), id="an outcome that is a list"),
        pytest.param(UP + end(seconds=float("nan")), id="NaN seconds"),
        pytest.param(UP + end(seconds=-1.0), id="negative seconds"),
        pytest.param(UP + end(seconds="1"), id="seconds as text"),
        pytest.param(UP + end(exit_code=None), id="no exit code"),
        pytest.param(UP + end(exit_code=True), id="a boolean exit code"),
        pytest.param(UP + end(exit_code=10**400), id="a huge exit code"),
        pytest.param(UP + end(outcome="signal", signal=0.5), id="half a signal"),
    ],
)
def test_a_lying_worker_is_lost(data: bytes) -> None:
    with pytest.raises(WorkerLostError):
        run(data)


def test_the_end_of_the_stream_tells_what_the_worker_said() -> None:
    with pytest.raises(WorkerLostError, match="said on the side"):
        run(b"")


def test_ready_message_of_a_worker() -> None:
    script = Script(frame(framing.READY, b'{"python": "3.9"}'))
    assert WorkerChannel(script).start(b"setup", timeout_s=5.0) == {"python": "3.9"}
    assert script.sent == b"setup"
    for data in (frame(framing.FAULT, b"no"), frame(framing.END, b"{}"), frame(framing.READY, b"7")):
        with pytest.raises(WorkerLostError):
            WorkerChannel(Script(data)).start(b"", timeout_s=5.0)


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 10))
def test_whole_records_survive_a_cut_anywhere(records: list[bytes], cut: int) -> None:
    stream = b"".join(map(record, records))
    found, flooded = split_records(stream[: len(stream) - cut] if cut else stream, limit=10**6)
    assert not flooded
    assert list(found) == records[: len(found)]
    if cut == 0:
        assert list(found) == records


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_stream_of_bytes_stays_within_the_limit(stream: bytes, limit: int) -> None:
    found, _flooded = split_records(stream, limit=limit)
    assert sum(len(item) + 64 for item in found) <= limit


def test_flood_of_empty_records_is_a_flood() -> None:
    found, flooded = split_records(b"\0" * 4000, limit=6400)
    assert flooded
    assert len(found) == 100


def test_task_is_encoded_for_supervisor_and_candidate() -> None:
    task = SandboxTask(program="p", payload=b"PAY", files={"a": b"AA", "b": b"B"})
    kind, size = framing.HEADER.unpack_from(encode_task(task))
    body = encode_task(task)[framing.HEADER.size :]
    assert (kind, size) == (framing.TASK, len(body))
    (length,) = struct.unpack_from(">I", body)
    assert json.loads(body[4 : 4 + length])["wall_s"] == 10.0
    rest = body[4 + length :]
    (length,) = struct.unpack_from(">I", rest)
    request = json.loads(rest[4 : 4 + length])
    assert request == {"program": "p", "command": None, "files": [["a", 2], ["b", 1]], "payload": 3}
    assert rest[4 + length :] == b"AABPAY"
