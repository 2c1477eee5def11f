"""What of the sandbox can change an output, for the keys of stored results."""

from __future__ import annotations

from pytest_funcmem.core.digests import text_digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Json
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.sandbox.launch import program_sources

__all__ = ["world_of"]


def world_of(sandbox: Sandbox) -> Json:
    """The interpreter that runs audited code, and the digest of the runner that it runs under.

    Which sandbox it is does not count: both promise the same world.
    """
    about = sandbox.identity()
    return {
        "interpreter": [about["implementation"], about["python"]],
        "programs": {name: text_digest(source) for name, source in sorted(program_sources(PROGRAMS).items())},
    }
