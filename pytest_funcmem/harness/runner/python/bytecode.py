"""Reads off the bytecode of a caller what it will do with a value. It knows nothing of made-up objects."""

from __future__ import annotations

import opcode
import types


def unpacked_into(frame: types.FrameType) -> int | None:
    """How many values the caller unpacks an iterable into; None if it does something else with it."""
    code = frame.f_code.co_code
    place = frame.f_lasti
    if 0 <= place < len(code) and opcode.opname[code[place]] in ("UNPACK_SEQUENCE", "UNPACK_EX"):
        return code[place + 1] & 0xFF
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
