"""Reads off the bytecode of a caller what it will do with a value. It knows nothing of made-up objects.

It names instructions rather than numbers, and asks for those alone that CPython has had from 3.9 to 3.14 with
the same meaning; ``co_code`` holds them as they were compiled, whatever a release makes of them while they
run.
"""

from __future__ import annotations

import opcode
import types


def unpacked_into(frame: types.FrameType) -> int | None:
    """How many values the caller unpacks an iterable into; None if it does something else with it."""
    code = frame.f_code.co_code
    place = frame.f_lasti
    if not 0 <= place < len(code):
        return None
    # The high byte of an argument is borne by an instruction before it, at which older releases still stand.
    if opcode.opname[code[place]] == "EXTENDED_ARG":
        place += 2
    name = opcode.opname[code[place]]
    if name == "UNPACK_SEQUENCE":
        return code[place + 1]
    if (
        name == "UNPACK_EX"
    ):  # the low byte counts the values before the starred name, the high one those after
        extended = place >= 2 and opcode.opname[code[place - 2]] == "EXTENDED_ARG"
        return code[place + 1] + (code[place - 1] if extended else 0)
    return None


def is_looked_into(frame: types.FrameType) -> bool:
    """Whether the caller asks an attribute of what a comparison gives, as code for arrays does."""
    code = frame.f_code.co_code
    place = frame.f_lasti
    if not 0 <= place < len(code) or opcode.opname[code[place]] != "COMPARE_OP":
        return False
    place += 2
    while place < len(code) and opcode.opname[code[place]] == "CACHE":
        place += 2
    return place < len(code) and opcode.opname[code[place]] in ("LOAD_ATTR", "LOAD_METHOD")
