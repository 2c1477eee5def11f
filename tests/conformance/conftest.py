"""Sandboxes for the suites of this directory, one for a whole file or for a test alone; models to talk to."""

from __future__ import annotations

from dialogue_support import play
from sandbox_support import fresh, sandbox

__all__ = ["fresh", "play", "sandbox"]
