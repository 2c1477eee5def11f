"""Hostile code, in every sandbox: each attack is contained, and the next candidate is none the worse."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sandbox_support import PROBE, QUICK, SHORT, answer, assert_next_is_honest, probe

from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.sandbox.pool import WarmSandbox

HOST_SECRETS = ("/etc/shadow", "/etc/ssh", "/var/run/docker.sock", "/run/docker.sock", "/.host", "/home")


def test_fork_bomb(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "fork_bomb", limits=SHORT)
    assert (result.outcome, result.records) == ("timeout", (b"before",))
    assert_next_is_honest(sandbox)


def test_thread_bomb(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "thread_bomb")) < QUICK.processes
    assert_next_is_honest(sandbox)


def test_there_is_no_network_at_all(sandbox: WarmSandbox) -> None:
    for what, became in answer(probe(sandbox, "network")).items():
        if what == "loopback" and sandbox.name == "docker":
            assert became == "ConnectionRefusedError"
        elif what == "own server" and sandbox.name == "docker":
            assert became is None  # a container's loopback is its own
        else:
            assert became in ("OSError", "PermissionError", "gaierror", "TimeoutError"), what


def test_host_files_are_invisible(sandbox: WarmSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    paths = [str(secret), str(Path.home() / ".ssh"), str(PROBE), str(Path.cwd()), *HOST_SECRETS]
    seen = answer(probe(sandbox, "look_at", paths=paths))
    visible = {path: became for path, became in seen.items() if became}
    # The image has a home directory and a shadow file of its own, which are not the host's and say nothing.
    assert set(visible) <= {"/etc/shadow", "/home"}
    assert "read" not in visible.values()


def test_root_is_read_only(sandbox: WarmSandbox) -> None:
    directories = ["/", "/etc", "/usr", "/usr/bin", "/var/tmp", "/run", "/dev", "/work", "/proc/sys/kernel"]
    attempts = answer(probe(sandbox, "write_to", directories=[*directories, "."]))
    assert attempts.pop(".") is None
    if os.geteuid() != 0 and sandbox.name == "namespace":
        attempts.pop("/work")  # its own mount, which ends with it
    assert set(attempts.values()) <= {"PermissionError", "OSError", "FileNotFoundError"}
    assert_next_is_honest(sandbox)


def test_nothing_is_left_in_shared_directories(sandbox: WarmSandbox) -> None:
    made = answer(probe(sandbox, "write_to", directories=["/tmp", "/dev/shm", "/work/tmp", "."]))
    assert set(made.values()) == {None}
    assert_next_is_honest(sandbox)


def test_deep_and_forbidden_tree_is_removed(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "deep_tree", depth=1500)) == "made"
    assert_next_is_honest(sandbox)


def test_space_and_inodes_are_limited(sandbox: WarmSandbox) -> None:
    filled = answer(probe(sandbox, "fill_files", limits=Limits(files_mib=4, wall_s=30.0)))
    assert filled["mebibytes"] <= 4
    assert filled["inodes"] < 5000
    assert_next_is_honest(sandbox)


def test_daemon_does_not_outlive_its_task(sandbox: WarmSandbox) -> None:
    assert answer(probe(sandbox, "leave_daemon")) == "left"
    others = answer(probe(sandbox, "processes"))
    assert all(pid == 1 or uid == 0 for pid, uid in others), others  # none but the worker's own


def test_child_that_holds_the_pipes_delays_nothing(sandbox: WarmSandbox) -> None:
    start = time.monotonic()
    result = probe(sandbox, "hold_pipes_open")
    assert (result.outcome, result.records) == ("ended", (b"before",))
    assert time.monotonic() - start < 5.0


def test_other_processes_are_out_of_reach(sandbox: WarmSandbox) -> None:
    result = probe(sandbox, "attack_others")
    if result.outcome == "ended":
        attempts = answer(result)
        assert set(attempts["kill"]) <= {"PermissionError", "ProcessLookupError"}
        assert set(attempts["memory"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["environment"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["descriptors"]) <= {"PermissionError", "FileNotFoundError"}
        assert set(attempts["ptrace"]) <= {-1}
    assert_next_is_honest(sandbox)


def test_privileges_cannot_be_gained(sandbox: WarmSandbox) -> None:
    results = answer(probe(sandbox, "rise"))
    assert results.pop("su") != 0
    for what, became in results.items():
        assert became in ("PermissionError", "OSError", -1), what
    assert_next_is_honest(sandbox)
