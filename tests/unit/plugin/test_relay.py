"""Records from the process that audits to those that show them."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from pytest_funcmem.core.errors import AuditError, StoreError
from pytest_funcmem.core.records import AuditRecord, SourceFunction, Verdict
from pytest_funcmem.plugin import relay
from pytest_funcmem.plugin.relay import RecordInbox, RecordOutbox

FUNCTION = SourceFunction(
    path="a.py", qualname="f", language="python", line=1, text="def f():\n    return 1\n", definition_start=0,
    signature_start=0, signature_end=8, end=21,
)  # fmt: skip
RECORD = AuditRecord(
    function=FUNCTION, verdict=Verdict(kind="clean", reason="both \ud800 ∞"), seconds={"run": 0.5}
)


def test_a_record_arrives_as_it_was_sent_whoever_comes_first() -> None:
    outbox = RecordOutbox()
    try:
        inbox = RecordInbox(outbox.path)
        early, late = Future(), Future()  # type: ignore[var-annotated]
        early.set_result(RECORD)
        outbox.pass_on("x::early", early)
        outbox.pass_on("x::late[model]", late)
        assert inbox.wait("x::early", "run") == RECORD
        timer = threading.Timer(0.1, late.set_result, [RECORD])
        timer.start()
        assert inbox.wait("x::late[model]", "run") == RECORD
        timer.join()
        assert outbox.path.stat().st_mode & 0o077 == 0  # training code is nobody else's to read
    finally:
        outbox.close()
    assert not outbox.path.exists()


def test_whoever_waits_learns_that_the_controller_has_ended() -> None:
    outbox = RecordOutbox()
    inbox = RecordInbox(outbox.path)
    timer = threading.Timer(0.1, outbox.close)
    timer.start()
    with pytest.raises(AuditError, match="process that audits has ended"):
        inbox.wait("x::f", "run")
    timer.join()


def test_whoever_waits_learns_of_a_controller_that_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = RecordOutbox()
    try:
        inbox = RecordInbox(outbox.path)
        monkeypatch.setattr(relay.os, "getppid", lambda: 1)
        with pytest.raises(AuditError, match="has ended"):
            inbox.wait("x::f", "run")
    finally:
        outbox.close()


def test_a_record_that_cannot_be_laid_down_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = RecordOutbox()
    inbox = RecordInbox(outbox.path)

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(outbox._store, "put", full)
    future: Future[AuditRecord] = Future()
    future.set_result(RECORD)
    outbox.pass_on("x::f", future)
    with pytest.raises(AuditError, match="can hand over no more"):
        inbox.wait("x::f", "run")


def test_whoever_waits_for_a_run_that_was_ended_learns_why() -> None:
    outbox = RecordOutbox()
    try:
        inbox = RecordInbox(outbox.path)
        outbox.stop("one", "enough is known")
        future: Future[AuditRecord] = Future()
        future.set_result(RECORD)
        outbox.pass_on("x::f", future)
        assert inbox.wait("x::g", "one") == "enough is known"
        assert inbox.wait("x::f", "two") == RECORD
    finally:
        outbox.close()
