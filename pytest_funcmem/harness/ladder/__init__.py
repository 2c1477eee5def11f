"""The ladder of the paper: how far a function gets without an agent, one level of context after the other.

Knows models by their protocol and sandboxes likewise; it knows no command, no table and no report.
"""

from __future__ import annotations
