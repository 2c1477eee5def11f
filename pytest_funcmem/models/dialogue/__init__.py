"""Dialogues with models that call tools: what an agent is made of, and what its model costs.

Knows the APIs and nothing of what is talked about: no function, no harness, no sandbox.
"""

from __future__ import annotations
