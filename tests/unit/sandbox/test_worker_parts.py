"""Parts of the worker and of the images that can be looked at without isolation."""

from __future__ import annotations

import ast
import os
import signal
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pytest_funcmem.sandbox import worker
from pytest_funcmem.sandbox.images.host_base import closure, closure_digest, installed_packages
from pytest_funcmem.sandbox.launch import BOOT, setup_message
from pytest_funcmem.sandbox.ownership import is_orphan, owner_labels
from pytest_funcmem.sandbox.worker import candidate, cleanup, framing, supervisor, syscalls

WORKER_FILES = sorted(Path(str(worker.__file__)).parent.glob("*.py"))


@pytest.mark.parametrize("path", WORKER_FILES, ids=lambda path: path.name)
def test_worker_uses_the_standard_library_of_python_3_9_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        assert all(name.split(".")[0] in sys.stdlib_module_names for name in names), names


def test_setup_message_holds_every_module_of_the_worker() -> None:
    message = setup_message(programs={}, config={})
    assert struct.unpack_from(">I", message) == (len(message) - 4,)
    for path in WORKER_FILES:
        if path.name != "__init__.py":
            assert f'"worker.{path.stem}"'.encode() in message
    compile(BOOT, "boot", "exec")


@pytest.mark.parametrize(
    ("status", "stopped", "killed_for_memory", "expected"),
    [
        (0, None, False, ("ended", 0, None)),
        (7 << 8, None, False, ("ended", 7, None)),
        (signal.SIGSEGV, None, True, ("signal", None, signal.SIGSEGV)),
        (signal.SIGKILL, None, True, ("memory", None, None)),
        (signal.SIGKILL, None, False, ("signal", None, signal.SIGKILL)),
        (signal.SIGSYS, None, False, ("refused", None, None)),
        (candidate.OUT_OF_MEMORY_EXIT << 8, None, False, ("memory", None, None)),
        (signal.SIGKILL, "timeout", True, ("timeout", None, None)),
        (0, "refused", False, ("refused", None, None)),
    ],
)
def test_end_of_a_candidate(
    status: int, stopped: str | None, killed_for_memory: bool, expected: tuple[object, ...]
) -> None:
    end = supervisor.describe_end(status, stopped=stopped, out_of_memory=killed_for_memory)
    assert (end["outcome"], end["exit_code"], end["signal"]) == expected


def test_outbox_hands_frames_over_together_and_never_holds_much() -> None:
    reading, writing = os.pipe()
    try:
        outbox = framing.Outbox(writing)
        outbox.add(framing.RECORDS, b"one")
        outbox.add(framing.END, b"{}")
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
        outbox.flush()
        assert framing.read_frame(reading) == (framing.RECORDS, b"one")
        assert framing.read_frame(reading) == (framing.END, b"{}")
        outbox.add(framing.STDOUT, b"x" * 40_000)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
        os.set_blocking(writing, False)
        with pytest.raises(BlockingIOError):  # more than a pipe holds: it has begun to write by itself
            outbox.add(framing.STDOUT, b"x" * 40_000)
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_jumps_stay_inside_and_every_path_ends_in_a_verdict(machine: str) -> None:
    code = syscalls.build_filter(machine)
    assert code is not None
    instructions = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    assert len(instructions) < 4096
    reachable, pending = set(), [0]
    while pending:
        at = pending.pop()
        if at in reachable:
            continue
        assert at < len(instructions)
        reachable.add(at)
        operation, if_true, if_false, _operand = instructions[at]
        if operation == 0x06:
            continue
        pending += [at + 1] if operation == 0x20 else [at + 1 + if_true, at + 1 + if_false]
    assert reachable == set(range(len(instructions)))


def test_filter_of_an_unknown_machine() -> None:
    assert syscalls.build_filter("vax") is None


def test_tree_deeper_than_recursion_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "file").write_text("x")
    (top / "link").symlink_to("/etc/passwd")
    here = os.open(top, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    cleanup._remove(str(top))
    assert list(tmp_path.iterdir()) == []
    assert Path("/etc/passwd").exists()


def test_own_containers_are_no_orphans() -> None:
    assert not is_orphan(owner_labels())


def test_containers_of_dead_owners_are_orphans() -> None:
    code = "from pytest_funcmem.sandbox.ownership import owner_labels as o; print(repr(o()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    labels = ast.literal_eval(done.stdout)
    assert is_orphan(labels)
    # The number may have gone to another process meanwhile.
    assert is_orphan({**labels, "org.pytest-funcmem.owner": str(os.getpid())})


def test_containers_of_other_machines_are_left_alone() -> None:
    labels = owner_labels()
    elsewhere = {**labels, "org.pytest-funcmem.boot": "another", "org.pytest-funcmem.machine": "another"}
    assert not is_orphan({**elsewhere, "org.pytest-funcmem.owner": "999999999"})


STATUS = """\
Package: python3
Status: install ok installed
Architecture: amd64
Version: 3.11.2-1
Depends: python3.11 (>= 3.11.2-1~), awk | mawk, not-installed
Description: interpreter
 with a second line

Package: python3.11
Status: install ok installed
Architecture: amd64
Version: 3.11.2-6
Pre-Depends: libc6 (>= 2.36)

Package: mawk
Status: install ok installed
Architecture: amd64
Version: 1.3
Provides: awk (= 1)

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def test_closure_of_host_packages() -> None:
    packages = installed_packages(STATUS)
    assert sorted(packages) == ["libc6", "mawk", "python3", "python3.11"]
    found = closure(packages, ["python3", "absent"])
    assert [package.name for package in found] == ["libc6", "mawk", "python3", "python3.11"]
    assert "with a second line" in packages["python3"].stanza
    assert closure_digest(found) == closure_digest(tuple(found))
    assert closure_digest(found) != closure_digest(found[1:])


@pytest.mark.skipif(not Path("/var/lib/dpkg/status").exists(), reason="not a Debian")
def test_base_of_host_files_holds_packages_and_nothing_of_users(tmp_path: Path) -> None:
    from pytest_funcmem.sandbox.images.host_base import write_base

    packages = installed_packages(Path("/var/lib/dpkg/status").read_text("utf-8"))
    found = closure(packages, ["dash", "base-passwd"])
    write_base(found, tmp_path / "base.tar")
    with tarfile.open(tmp_path / "base.tar") as archive:
        names = set(archive.getnames())
        shell = next(name for name in ("usr/bin/dash", "bin/dash") if name in names)
        assert archive.getmember(shell).mode & 0o111
        assert "root:" in (archive.extractfile("etc/passwd") or pytest.fail("no passwd")).read().decode()
        assert not {"etc/shadow", "root/.bashrc"} & names
        assert all(member.uid == 0 or member.gid for member in archive.getmembers())
