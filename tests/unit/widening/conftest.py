"""A sandbox that is opened once, and functions read from small pieces of text."""

from __future__ import annotations

from small_functions import ReadFunction, read_function, sandbox

__all__ = ["ReadFunction", "read_function", "sandbox"]
