"""The report of a leak on the terminal: verdict, figures, code, outputs, harness, and how to run it again.

Every line fits the width, everything can be read without colour, and audited text is shown, never obeyed:
no markup, no control characters. This module knows nothing of pytest.
"""

from __future__ import annotations

import io
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pytest_funcmem.core.records import (
    AuditRecord,
    Harness,
    HarnessEvidence,
    MetricScore,
    Proof,
    Side,
    TextScore,
)
from pytest_funcmem.harness.widening.labels import widenings
from pytest_funcmem.reporting.alignment import Row, beside
from pytest_funcmem.reporting.plain_text import cells, fold, fold_spans, shorten, visible
from pytest_funcmem.reporting.states import OUTCOMES, differing, show_state
from pytest_funcmem.reporting.summary import change_text

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["failure_report"]

_LABEL = 13
_CODE_LINES = 200  # lines of one body that are laid out
_CODE_ROWS = 120  # rows of the code that are shown
_STATE_ROWS = 10  # input states that are shown
_MARK_STYLES = {"=": "green", "~": "yellow", "+": "cyan", "-": "red", " ": ""}
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_ENDED = ("returned", "raised")
_TITLES = {
    "functional": "FUNCTIONAL LEAK",
    "verbatim": "NEAR-VERBATIM LEAK",
    "clean": "CLEAN",
    "inconclusive": "INCONCLUSIVE",
    "error": "AUDIT ERROR",
}


def failure_report(record: AuditRecord, *, rerun: str, width: int = 100, color: bool) -> str:
    """Render the report of one function.

    Args:
        record: A finished record.
        rerun: Shell command that audits just this function again.
        width: Most columns of a line, at least 80.
        color: Whether to add ANSI colours; the text is the same with and without.

    Returns:
        Lines joined by newlines, without one at the end.
    """
    page = _Page(width)
    page.verdict(record)
    if record.target is not None and record.reference is not None:
        page.figures(record.target, record.reference)
        page.code(record, record.target, record.reference)
    page.states(record)
    page.harness(record)
    page.rerun(rerun)
    return page.render(color=color)


class _Page:
    """Collects styled lines, none wider than the page."""

    def __init__(self, width: int) -> None:
        self._width = max(80, width)
        self._lines: list[Text] = []

    # --------------------------------------------------------------------------------------- building blocks

    def _line(self, *pieces: str | tuple[str, str]) -> None:
        from rich.text import Text

        self._lines.append(Text.assemble(*pieces, end=""))

    def _section(self, title: str, remark: str = "") -> None:
        self._line()
        end = f" {remark} ──" if remark else ""
        rule = "─" * (self._width - len(title) - len(end) - 4)
        self._line(("── ", "dim"), (title, "bold"), (f" {rule}{end}", "dim"))

    def _labelled(self, label: str, text: str) -> None:
        for number, piece in enumerate(fold(text, self._width - _LABEL)):
            self._line((("" if number else label).ljust(_LABEL), "dim"), piece)

    def render(self, *, color: bool) -> str:
        from rich.console import Console

        stream = io.StringIO()
        console = Console(
            file=stream,
            width=self._width,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
            _environ={},
        )
        for line in self._lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
        return stream.getvalue().rstrip("\n")

    # ---------------------------------------------------------------------------------------------- sections

    def verdict(self, record: AuditRecord) -> None:
        function = record.function
        title = _TITLES[record.verdict.kind]
        place = visible(f"{function.key}  ({function.language}, line {function.line})")
        self._line((title, "bold red"), "  ", shorten(place, self._width - len(title) - 2))
        for piece in fold(visible(record.verdict.reason), self._width):
            self._line(piece)
        sensitivity = record.sensitivity
        if sensitivity is not None and sensitivity.changes:
            self._labelled("changes", "; ".join(map(change_text, sensitivity.changes)))
        if sensitivity is not None and sensitivity.states is not None:
            self._labelled(
                "choice",
                f"the same verdict under {sensitivity.choices_same} of the {sensitivity.choices} choices of"
                f" {sensitivity.states} of its states",
            )

    def figures(self, target: Side, reference: Side) -> None:
        self._section("similarity to the original")
        heads = ("", "SIM_func", "states", "SIM_text", "edit", "lcs", "exact", "candidate", "stopped by")
        rows = [heads, _figures("target", target), _figures("reference", reference)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        widths[0] = _LABEL - 2
        gap = "  " if sum(widths) + 2 * len(widths) <= self._width else " "
        for number, row in enumerate(rows):
            text = gap.join(
                cell.ljust(size) if column in (0, 7, 8) else cell.rjust(size)
                for column, (cell, size) in enumerate(zip(row, widths, strict=True))
            )
            self._line((shorten(text.rstrip(), self._width), "dim" if number == 0 else ""))
        for name, side in (("target", target), ("reference", reference)):
            if side.candidate.status != "ok":
                detail = f"{side.candidate.status}: {side.candidate.detail or 'no function in it'}"
                self._labelled(name, shorten(visible(detail), 2 * (self._width - _LABEL)))
            unended = {kind: count for kind, count in side.outcomes.items() if kind not in _ENDED}
            if unended:
                ends = (f"{count} {OUTCOMES.get(kind, kind)}" for kind, count in unended.items())
                self._labelled(name, f"of {sum(side.outcomes.values())} states {', '.join(ends)}")
        self._line()
        for name, side in (("target", target), ("reference", reference)):
            identity = side.model
            revision = identity.revision
            known = [identity.spec, f"revision {revision if len(revision) <= 24 else revision[:20] + '…'}"]
            known += [text for text in (identity.dtype, identity.device) if text]
            self._labelled(name, shorten(visible(" · ".join(known)), self._width - _LABEL))
        for score, other in zip(target.scores, reference.scores, strict=True):
            figures = (f"target {_value(score)}", f"reference {_value(other)}")
            notes = dict.fromkeys(note for note in (score.note, other.note) if note)
            said = "; ".join((", ".join(figures), *notes))
            self._labelled("metric", shorten(visible(f"{score.name}: {said}"), 2 * (self._width - _LABEL)))
        similarity = target.similarity
        self._labelled("SIM_text", similarity.bleu.signature)
        self._labelled("edit", similarity.edit.signature)
        self._labelled("lcs", similarity.lcs.signature)
        for signature in dict.fromkeys(score.signature for score in target.scores):
            self._labelled("metric", visible(signature))

    def code(self, record: AuditRecord, target: Side, reference: Side) -> None:
        function = record.function
        self._section("code", "= equal  ~ changed  + added  - missing")
        signature = textwrap.dedent(function.signature).split("\n")
        for text in signature[:_STATE_ROWS]:
            for piece in fold(visible(text, tab=2), self._width - 5, hang=4)[:4]:
                self._line("     ", piece)
        bodies = [
            _body_lines(text) for text in (function.body, target.candidate.body, reference.candidate.body)
        ]
        first = function.line + function.signature.count("\n") + _blank_lines(function.body)
        room = (self._width - 11) // 3
        self._line(
            (f"     {'original':<{room}}   {'target':<{room}}   reference", "dim"),
        )
        rows = beside(*bodies)
        for row in rows[:_CODE_ROWS]:
            self._code_row(row, bodies, first, room)
        notes = [f"{len(rows) - _CODE_ROWS} more rows"] if len(rows) > _CODE_ROWS else []
        for name, text in (("target", target.candidate.body), ("reference", reference.candidate.body)):
            if text.count("\n") > _CODE_LINES:
                notes.append(f"the {name}'s lines after {_CODE_LINES}")
        if notes:
            self._line((f"     not shown: {', '.join(notes)}", "dim"))

    def _code_row(self, row: Row, bodies: Sequence[Sequence[str]], first: int, room: int) -> None:
        original = "" if row.original is None else bodies[0][row.original]
        columns = [
            _code_cell(original, None, room),
            _code_cell("" if row.target is None else bodies[1][row.target], original, room, row.target_mark),
            _code_cell(
                "" if row.reference is None else bodies[2][row.reference], original, room, row.reference_mark
            ),
        ]
        number = "" if row.original is None else str(first + row.original)
        for line in range(max(len(column) for column in columns)):
            pieces: list[str | tuple[str, str]] = [(f"{'' if line else number:>4} ", "dim")]
            for column, mark in zip(columns, (None, row.target_mark, row.reference_mark), strict=True):
                if mark is not None:
                    pieces.append((f" {mark} ", _MARK_STYLES[mark]))
                pieces.extend(column[line] if line < len(column) else [" " * room])
            self._line(*pieces)

    def states(self, record: AuditRecord) -> None:
        if not record.comparisons:
            return
        unequal = [
            (number, comparison)
            for number, comparison in enumerate(record.comparisons, start=1)
            if differing(comparison)
        ]
        equal = len(record.comparisons) - len(unequal)
        self._section(
            "outputs",
            f"{equal} of {len(record.comparisons)} states equal in all three; = same as the original",
        )
        if not unequal:
            return
        room = (self._width - 4 - 9) // 4
        heads = ("input state", "original", "target", "reference")
        self._line((f"{'':4}{'   '.join(head.ljust(room) for head in heads)}", "dim"))
        for number, comparison in unequal[:_STATE_ROWS]:
            shown = show_state(comparison, state_width=3 * room, output_width=3 * room)
            parts = [shown.state, shown.original, shown.target, shown.reference]
            columns = [
                ["=" if column else ""]
                if cell is None
                else [piece for text in cell for piece in fold(text, room, hang=2)]
                for column, cell in enumerate(parts)
            ]
            styles = ["", "", *("green" if cell is None else "yellow" for cell in parts[2:])]
            for line in range(max(len(column) for column in columns)):
                pieces: list[str | tuple[str, str]] = [(f"{'' if line else number:>3} ", "dim")]
                for place, (column, style) in enumerate(zip(columns, styles, strict=True)):
                    text = column[line] if line < len(column) else ""
                    pieces.append(("   " if place else "") + "")
                    pieces.append((_padded(text, room), style))
                self._line(*pieces)
        if len(unequal) > _STATE_ROWS:
            more = len(unequal) - _STATE_ROWS
            self._line((f"    and {more} more {'state differs' if more == 1 else 'states differ'}", "dim"))

    def harness(self, record: AuditRecord) -> None:
        harness = record.harness
        if harness is None:
            return
        self._section("harness")
        if not isinstance(harness, Harness):
            self._labelled("none", visible(f"{harness.reason}: {harness.detail}"))
        if harness.evidence is not None:
            for label, text in _evidence(harness.evidence):
                self._labelled(label, text)
        if isinstance(harness, Harness):
            mocks = ", ".join(harness.scaffold.mocks) or "none"
            self._labelled("mocks", shorten(visible(mocks), 2 * (self._width - _LABEL)))
            self._labelled(
                "built by",
                visible(f"{harness.builder}, sha256 {(record.harness_sha256 or 'unknown')[:16]}"),
            )
            if widenings(harness):
                why = "; a candidate failed only for want of it, and all three are run with it"
                self._labelled("widened by", visible("; ".join(widenings(harness))) + why)

    def rerun(self, command: str) -> None:
        self._section("run this item again")
        for text in _shell_lines(command, self._width):
            self._line(text)


def _value(score: MetricScore) -> str:
    return "no figure" if score.value is None else f"{score.value:.3f}"


def _figures(name: str, side: Side) -> tuple[str, ...]:
    similarity = side.similarity

    def share(score: TextScore) -> str:
        return f"{score.value:.3f}"

    runs = sum(side.outcomes.values())
    matches = "n/a" if side.matches is None else str(side.matches) + (f"/{runs}" if runs else "")
    return (
        name,
        "n/a" if side.func is None else f"{side.func:.2f}",
        matches,
        share(similarity.bleu),
        share(similarity.edit),
        share(similarity.lcs),
        "yes" if similarity.exact else "no",
        side.candidate.status,
        side.completion.stop.replace("_", " "),
    )


def _body_lines(body: str) -> list[str]:
    """Lines of a body as they are laid out: common indentation gone, the rest of it halved."""
    lines = textwrap.dedent(body.strip("\n").rstrip()).split("\n")[:_CODE_LINES]
    shown = []
    for line in lines:
        text = line.lstrip(" ")
        shown.append(visible(" " * ((len(line) - len(text)) // 2) + text, tab=2))
    return shown


def _blank_lines(body: str) -> int:
    return len(body) - len(body.lstrip("\n"))


def _code_cell(
    text: str, original: str | None, room: int, mark: str = "="
) -> list[list[str | tuple[str, str]]]:
    """Lines of one cell of the code, each as styled pieces that fill the column."""
    text = shorten(text, 4 * room)
    changed = _changed((original or "")[: 8 * room], text) if mark == "~" else [mark == "+"] * len(text)
    indent = min(len(text) - len(text.lstrip(" ")) + 2, room // 2)
    lines: list[list[str | tuple[str, str]]] = []
    for number, (start, end) in enumerate(fold_spans(text, room, hang=indent)):
        pieces: list[str | tuple[str, str]] = [" " * (indent if number else 0)]
        used = " " * (indent if number else 0) + text[start:end]
        while start < end:
            stop = start
            while stop < end and changed[stop] is changed[start]:
                stop += 1
            pieces.append((text[start:stop], "bold" if changed[start] else ""))
            start = stop
        pieces.append(_padded(used, room)[len(used) :])
        lines.append(pieces)
    return lines


def _changed(original: str, text: str) -> list[bool]:
    """For each character of a changed line, whether its word is not in the original's line at that place."""
    old, new = _WORD.findall(original), _WORD.findall(text)
    changed = [True] * len(new)
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        changed[block.b : block.b + block.size] = [False] * block.size
    return [flag for word, flag in zip(new, changed, strict=True) for _ in word]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _evidence(evidence: HarnessEvidence) -> Iterable[tuple[str, str]]:
    lines = f"{len(evidence.covered_lines)} of {len(evidence.executable_lines)} lines"
    yield "inputs", f"{evidence.inputs} input states, {evidence.valid} distinct and valid"
    yield "outputs", f"{evidence.outputs} distinct"
    yield "coverage", f"{100 * evidence.coverage:.0f} % ({lines})"
    killed = f"{evidence.mutants_killed} of {evidence.mutants} mutants told apart"
    yield (
        "strength",
        "no mutants" if evidence.strength is None else f"{100 * evidence.strength:.0f} % ({killed})",
    )
    yield "mock share", f"{100 * evidence.mock_share:.0f} % of the states rest on a mocked value"
    if evidence.proofs:
        yield "proofs", _proofs(evidence.proofs)


def _proofs(proofs: Sequence[Proof]) -> str:
    """Each proof by the original, the strongest stub, and by name whatever failed."""
    stubs = [proof for proof in proofs if proof.name.startswith("stub")]
    parts = [f"{visible(proof.name)} {proof.score:.2f}" for proof in proofs if proof not in stubs]
    if stubs:
        best = max(stubs, key=lambda proof: proof.score)
        parts.append(f"{len(stubs)} stubs at most {best.score:.2f} ({visible(best.name.partition(':')[2])})")
    failed = [f"{visible(proof.name)} {proof.score:.2f}" for proof in proofs if not proof.passed]
    parts.append(f"FAILED: {', '.join(failed)}" if failed else "all passed")
    return " · ".join(parts)


def _shell_lines(command: str, width: int) -> list[str]:
    """Break a shell command into lines that can be copied and run."""
    try:
        words = shlex.split(command)
    except ValueError:
        return fold(visible(command), width)
    lines, line = [], ""
    for word in words:
        first, *rest = _shell_word(word, width - 6)
        if line and cells(line) + cells(first) + 3 > width:
            lines.append(f"{line} \\")
            line = "    "
        line += first if line in ("", "    ") else f" {first}"
        for piece in rest:
            # A backslash before a newline joins lines in a shell, even inside a word.
            lines.append(f"{line}\\")
            line = piece
    return [*lines, line]


def _shell_word(word: str, width: int) -> list[str]:
    """Quote a word for a shell, in pieces that fit and mean the word when joined."""
    shown = visible(word)
    if shown == word:
        quoted = shlex.quote(word)
    else:
        escaped = visible(word.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t"))
        quoted = f"$'{escaped}'"
    if cells(quoted) <= width or len(word) < 2:
        return [quoted]
    middle = len(word) // 2
    return [*_shell_word(word[:middle], width), *_shell_word(word[middle:], width)]
