"""Sandboxes for the suites of this directory: one for a whole file, or one for a test alone."""

from __future__ import annotations

from sandbox_support import fresh, sandbox

__all__ = ["fresh", "sandbox"]
