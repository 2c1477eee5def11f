"""Which nodes of each grammar move data, and how: the tables that ``data_flow`` reads.

Python's and Java's follow the extractors that Ren et al. (2020) published. Go's adds ``:=``, ``range`` and
``--``, which the published one does not see. C's and Rust's are our own: the published C goes through C#'s
names of nodes, and the published Rust never looks into a body.

This module holds tables only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_funcmem.core.records import Language

__all__ = ["RULES", "Branch", "Flow", "FlowRules", "Loop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A node through which data moves from its right part to its left.

    Attributes:
        left: Field, or fields in the order in which to look, of what is written.
        right: The same of what is read; "last" is the last child.
        relation: ``comesFrom`` for definitions, ``computedFrom`` for assignments.
        pairwise: Whether a list on the left takes item by item from one of equal length on the right, as
            Python assigns; and the flow is one edge with all its sources.
        without_source: What a missing right part means: ``defines`` (a declaration) or ``nothing``.
    """

    left: str
    right: str
    relation: str
    pairwise: bool = False
    without_source: str = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A node after which data may come from any of its branches.

    Attributes:
        starts: Kinds of children that begin at the state before the node, as each branch does.
        rest: Whether all children after the first of those begin there too.
        else_kinds: Kinds of children that show that the branches cover every case.
    """

    starts: frozenset[str]
    rest: bool
    else_kinds: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A node that is gone through twice, so that data flows from one turn into the next.

    Attributes:
        flow: What each turn assigns, from what, before the body.
        body: Field of the body where ``flow`` is given; "last" is the last child if it is a block.
        after: Without ``flow``: kind of the child after which the second turn begins; "" for all children.
        required: Whether there is a second turn only where there is such a child; else it has all children.
        again: Field of that child to go through before the second turn.
        second: Fields of the second turn, in order, in place of ``after``.
    """

    flow: Flow | None = None
    body: str = ""
    after: str = ""
    required: bool = False
    again: str = ""
    second: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRules:
    """How data moves in one language.

    Attributes:
        flows: Assignments, declarations and the like, by kind.
        updates: Kinds that read and write all that they name, such as ``i++``.
        branches: Conditions, by kind.
        loops: Loops, by kind.
        first: Kinds that come before their siblings, such as the clauses of a comprehension.
        strings: Kinds of text that count as one token.
        constants: Kinds of leaves that are constants.
        comments: Kinds that do not count.
    """

    flows: Mapping[str, Flow]
    updates: frozenset[str] = frozenset()
    branches: Mapping[str, Branch] = field(default_factory=dict)
    loops: Mapping[str, Loop] = field(default_factory=dict)
    first: frozenset[str] = frozenset()
    strings: frozenset[str]
    constants: frozenset[str]
    comments: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})


_PYTHON_ASSIGNMENT = Flow(left="left", right="right", relation="computedFrom", pairwise=True)
_ASSIGNMENT = Flow(left="left", right="right", relation="computedFrom")
_ELSE = frozenset({"else", "else_clause"})
_BRACE_IF = Branch(starts=frozenset({"if_statement", "else"}), rest=True, else_kinds=_ELSE)
_CLAUSE_IF = Branch(starts=frozenset({"else_clause"}), rest=False, else_kinds=_ELSE)

RULES: dict[Language, FlowRules] = {
    "python": FlowRules(
        flows={
            "assignment": _PYTHON_ASSIGNMENT,
            "augmented_assignment": _PYTHON_ASSIGNMENT,
            "for_in_clause": Flow(left="left", right="last", relation="computedFrom", pairwise=True),
            "default_parameter": Flow(
                left="name", right="value", relation="comesFrom", without_source="defines"
            ),
        },
        branches={
            "if_statement": Branch(
                starts=frozenset({"elif_clause", "else_clause"}), rest=False, else_kinds=_ELSE
            )
        },
        loops={
            "for_statement": Loop(flow=_PYTHON_ASSIGNMENT, body="last"),
            "while_statement": Loop(),
        },
        first=frozenset({"for_in_clause"}),
        strings=frozenset({"string"}),
        constants=frozenset(
            {"string", "string_content", "escape_sequence", "integer", "float", "true", "false", "none"}
        ),
    ),
    "java": FlowRules(
        flows={
            "variable_declarator": Flow(
                left="name", right="value", relation="comesFrom", without_source="defines"
            ),
            "assignment_expression": _ASSIGNMENT,
        },
        updates=frozenset({"update_expression"}),
        branches={"if_statement": _BRACE_IF},
        loops={
            "for_statement": Loop(after="local_variable_declaration", required=True),
            "enhanced_for_statement": Loop(
                flow=Flow(left="name", right="value", relation="computedFrom"), body="body"
            ),
            "while_statement": Loop(),
        },
        strings=frozenset({"string_literal", "character_literal"}),
        constants=frozenset(
            {
                "string_literal",
                "character_literal",
                "string_fragment",
                "multiline_string_fragment",
                "escape_sequence",
                "decimal_integer_literal",
                "hex_integer_literal",
                "octal_integer_literal",
                "binary_integer_literal",
                "decimal_floating_point_literal",
                "hex_floating_point_literal",
                "true",
                "false",
                "null_literal",
            }
        ),
    ),
    "go": FlowRules(
        flows={
            "var_spec": Flow(left="name", right="value", relation="comesFrom", without_source="defines"),
            "const_spec": Flow(left="name", right="value", relation="comesFrom", without_source="defines"),
            "short_var_declaration": _ASSIGNMENT,
            "assignment_statement": _ASSIGNMENT,
            "range_clause": _ASSIGNMENT,
        },
        updates=frozenset({"inc_statement", "dec_statement"}),
        branches={"if_statement": _BRACE_IF},
        loops={"for_statement": Loop(after="for_clause", again="update")},
        strings=frozenset({"interpreted_string_literal", "raw_string_literal", "rune_literal"}),
        constants=frozenset(
            {
                "interpreted_string_literal",
                "interpreted_string_literal_content",
                "raw_string_literal",
                "raw_string_literal_content",
                "rune_literal",
                "escape_sequence",
                "int_literal",
                "float_literal",
                "imaginary_literal",
                "true",
                "false",
                "nil",
                "iota",
            }
        ),
    ),
    "c": FlowRules(
        flows={
            "init_declarator": Flow(left="declarator", right="value", relation="comesFrom"),
            "assignment_expression": _ASSIGNMENT,
        },
        updates=frozenset({"update_expression"}),
        branches={"if_statement": _CLAUSE_IF},
        loops={
            "for_statement": Loop(second=("update", "condition", "body")),
            "while_statement": Loop(),
            "do_statement": Loop(),
        },
        strings=frozenset({"string_literal", "char_literal"}),
        constants=frozenset(
            {
                "string_literal",
                "char_literal",
                "string_content",
                "character",
                "escape_sequence",
                "number_literal",
                "true",
                "false",
                "null",
            }
        ),
    ),
    "rust": FlowRules(
        flows={
            "let_declaration": Flow(
                left="pattern", right="value", relation="comesFrom", without_source="defines"
            ),
            "let_condition": Flow(left="pattern", right="value", relation="computedFrom"),
            "const_item": Flow(left="name", right="value", relation="comesFrom"),
            "assignment_expression": _ASSIGNMENT,
            "compound_assignment_expr": _ASSIGNMENT,
        },
        branches={
            "if_expression": _CLAUSE_IF,
            "match_block": Branch(
                starts=frozenset({"match_arm"}), rest=False, else_kinds=frozenset({"match_arm"})
            ),
        },
        loops={
            "for_expression": Loop(
                flow=Flow(left="pattern", right="value", relation="computedFrom"), body="body"
            ),
            "while_expression": Loop(),
            "loop_expression": Loop(),
        },
        strings=frozenset({"string_literal", "raw_string_literal", "char_literal"}),
        constants=frozenset(
            {
                "string_literal",
                "raw_string_literal",
                "string_content",
                "char_literal",
                "escape_sequence",
                "integer_literal",
                "float_literal",
                "boolean_literal",
            }
        ),
    ),
}
