"""What of the sandbox can change an output, for the keys of stored results."""

from __future__ import annotations

import hashlib

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Json
from pytest_funcmem.harness.execution import PROGRAMS

__all__ = ["world_of"]


def world_of(sandbox: Sandbox) -> Json:
    """The interpreter that runs audited code, and the digest of the runner that it runs under.

    Which sandbox it is does not count: both promise the same world.
    """
    about = sandbox.identity()
    return {
        "interpreter": [about["implementation"], about["python"]],
        "programs": {
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(PROGRAMS.items())
        },
    }
