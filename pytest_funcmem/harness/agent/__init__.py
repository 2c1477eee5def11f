"""The ``agent`` builder: a language model with tools makes the harness that the local builder cannot.

It sees the original and its file, never a completion. What it makes is a draft; whether that is a harness is
decided by the same proofs as for any other builder (``drafts``), in a sandbox that the agent has never seen.
"""

from __future__ import annotations
