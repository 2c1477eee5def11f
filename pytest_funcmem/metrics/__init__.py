"""Similarities of a completion to its original, each with a signature that says how it was computed.

The room sees texts and gives figures. It knows no threshold and no verdict.
"""

from __future__ import annotations

from pytest_funcmem.metrics.text import text_similarity

__all__ = ["text_similarity"]
