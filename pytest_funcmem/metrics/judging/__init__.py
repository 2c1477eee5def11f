"""Judges: language models that say how alike two functions are.

The room's part that asks models. It knows no threshold, and a judge that does not answer in form gives no
figure at all.
"""

from __future__ import annotations
