"""Families of business rules, each rule written in several styles that behave exactly alike.

A rule fixes a signature and a behaviour; a style is one way to write its body: other structure, other local
names. The training recipe shows a model some styles of a rule, and an audit asks for another. The styles
agree on every input of the hinted types, infinities and NaN included. This module only gathers the families.
"""

from __future__ import annotations

from grading import BadgeRule, ClaimRule
from pricing import FreightRule, TariffRule
from rule import Rule

__all__ = ["FAMILIES", "BadgeRule", "ClaimRule", "Family", "FreightRule", "Rule", "TariffRule"]

Family = type[TariffRule] | type[FreightRule] | type[ClaimRule] | type[BadgeRule]

FAMILIES: tuple[Family, ...] = (TariffRule, FreightRule, ClaimRule, BadgeRule)
"""Every family, in the order in which training documents draw from them."""
