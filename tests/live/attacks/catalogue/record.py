"""What an attack is, as far as the suite is concerned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_funcmem.core.protocols import Limits

QUICK = Limits(wall_s=15.0, memory_mib=256)
SHORT = Limits(wall_s=1.0, memory_mib=256)
LONG = Limits(wall_s=120.0, memory_mib=256)

OUTSIDE = ("EPERM", "EACCES", "EROFS", "ENOENT", "ENOTDIR", "ENXIO")
"""Errors of a path that is not there, not to be read, or not to be written."""


FOREIGN = (
    "answers.append(str([p for p in others() if p > 1 and os.stat(f'/proc/{p}').st_uid not in (0, 65534)]))"
)
"""Statements that look for processes of others than the worker; 65534 stands for users without a number."""

NONE = (r"\[\]",)
"""Pattern of the one answer that is an empty list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Hostile code, and how it must be contained.

    Attributes:
        name: Unique; part of the test's id.
        code: ``program``: statements, run with the names of ``attack_program``; what becomes of its attempts
            it appends to ``answers``. ``harness``: a source file with a function ``f(x)``. ``command``: for
            ``sh -c``.
        way: Whether the code runs as a program that is past every harness, as a candidate of the harness, or
            as a command.
        outcomes: Sandbox outcomes that count as contained; for ``harness``, outcomes of its input states.
        answers: Regular expressions; each of the answers must match one of them in full. For ``harness``, the
            values of the states that returned; for ``command``, lines of both outputs.
        exit_codes: Exit statuses that count as contained where it ended; empty for any.
        then: Statements that the next candidate runs, to look for what was left.
        then_answers: As ``answers``, for what the next candidate found.
        as_user: Answers that are allowed too where an ordinary user runs the namespace sandbox. Only one user
            exists there, so a candidate has the same as the first process of its own namespace, through which
            it reaches nothing but its own end.
        spared: Why the attack is not made in the namespace sandbox; empty where it is.
    """

    name: str
    code: str
    way: Literal["program", "harness", "command"] = "program"
    outcomes: tuple[str, ...] = ("ended",)
    answers: tuple[str, ...] = ()
    exit_codes: tuple[int, ...] = (0,)
    limits: Limits = field(default=QUICK)
    then: str = ""
    then_answers: tuple[str, ...] = ()
    as_user: tuple[str, ...] = ()
    spared: str = ""
