"""What a caller does with a value is read alike on every release of CPython that is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_funcmem.harness.runner.python.bytecode as bytecode

PROGRAM = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("bytecode", sys.argv[1])
bytecode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bytecode)

class Watched:
    def __iter__(self):
        self.seen = bytecode.unpacked_into(sys._getframe(1))
        return iter(range(self.seen or 0))
    def __gt__(self, other):
        self.seen = bytecode.is_looked_into(sys._getframe(1))
        return self
    def any(self):
        return True
    any_ = True

def read(body, times=20):
    # Again and again, so that the interpreter specializes what it runs.
    names = {}
    exec("def f(v):\\n    " + body, names)
    found = set()
    for _ in range(times):
        watched = Watched()
        names["f"](watched)
        found.add(watched.seen)
    return found

expected = {
    "a, b = v": {2}, "(a, b, c) = v": {3}, "a, *b = v": {1}, "a, *b, c = v": {2}, "*a, b, c = v": {2},
    "[item for item in v]": {None}, "list(v)": {None}, "for item in v: pass": {None},
    "(v > 1).any()": {True}, "return (v > 1).any_": {True}, "return v > 1": {False},
    "x = 1 if v > 1 else 2": {False},
}
wrong = {body: read(body) for body, value in expected.items() if read(body) != value}
print(wrong)
"""

INTERPRETERS = ("python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14")


@pytest.mark.parametrize("name", ["this one", *INTERPRETERS])
def test_what_a_caller_does_is_read_off_its_bytecode(name: str) -> None:
    executable = sys.executable if name == "this one" else shutil.which(name)
    if executable is None:
        pytest.skip(f"{name} is not installed")
    path = str(Path(bytecode.__file__))
    done = subprocess.run(
        [executable, "-I", "-c", PROGRAM, path], capture_output=True, text=True, check=False
    )
    if name != "this one" and "command not found" in done.stderr:
        pytest.skip(f"{name} is not installed")
    assert (done.stdout.strip(), done.returncode) == ("{}", 0), done.stderr
