"""Audit code language models for functional memorization, as a pytest plugin."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
