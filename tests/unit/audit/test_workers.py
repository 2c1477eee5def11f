"""The pool takes the most urgent piece first and survives a piece that fails."""

from __future__ import annotations

import threading

from pytest_funcmem.audit.workers import WorkerPool


def test_urgent_pieces_overtake_queued_ones() -> None:
    pool = WorkerPool(1, name="test")
    gate, done, order = threading.Event(), threading.Event(), []
    pool.submit(gate.wait, urgency=0, order=0)
    pool.submit(lambda: order.append("build 2"), urgency=1, order=2)
    pool.submit(lambda: order.append("build 1"), urgency=1, order=1)
    pool.submit(lambda: order.append("judge"), urgency=0, order=9)
    pool.submit(done.set, urgency=2, order=0)
    gate.set()
    assert done.wait(5)
    assert order == ["judge", "build 1", "build 2"]
    pool.close()
    pool.join(5)


def test_a_failing_piece_spoils_no_other(caplog) -> None:
    pool = WorkerPool(1, name="test")
    done = threading.Event()
    pool.submit(lambda: 1 / 0, urgency=0, order=0)
    pool.submit(done.set, urgency=0, order=1)
    assert done.wait(5)
    assert "failed unhandled" in caplog.text
    pool.close()
    pool.join(5)


def test_closing_drops_what_is_queued() -> None:
    pool = WorkerPool(1, name="test")
    gate, started, ran = threading.Event(), threading.Event(), []
    pool.submit(lambda: (started.set(), gate.wait()), urgency=0, order=0)
    assert started.wait(5)
    pool.submit(lambda: ran.append(1), urgency=0, order=1)
    pool.close()
    gate.set()
    pool.join(5)
    assert ran == []
