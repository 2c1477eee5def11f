"""Repairs of a scaffold: what a candidate legitimately uses, and the original happens not to.

A candidate that calls ``math.ceil`` where the file imports no ``math``, or reads a file at once where the
original goes line by line, fails for want of scaffolding and not for what it does. From the output states of
candidates alone it is found what was lacking; the scaffold is widened by that, if every output of the
original stays as it was. What is added comes from short lists of the standard library, never from a
candidate.
"""

from __future__ import annotations
