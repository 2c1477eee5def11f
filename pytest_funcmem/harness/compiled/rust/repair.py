"""Reads a compiler's messages about a scaffold, and changes the plan so that they go away.

What a message says of types that stand in is used to find out what they are; names that are not there get
something that stands in for them; helpers that do not compile are made to answer as if made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.harness.compiled.rust.known import LIKELY_TYPES
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction, grow
from pytest_funcmem.harness.compiled.rust.render import Rendered
from pytest_funcmem.harness.compiled.rust.standins import (
    add_function,
    add_macro,
    add_method,
    add_trait,
    add_type,
    own_function,
)
from pytest_funcmem.harness.compiled.rust.typetext import is_open, normal, settle, unify
from pytest_funcmem.harness.compiled.rust.uses import Uses

__all__ = ["Message", "repair"]

Message = dict[str, Any]
_TICKS = re.compile(r"`([^`]+)`")
_PAIR = re.compile(r"expected (?:[a-z ]+ )?`([^`]+)`,? found (?:[a-z ]+ )?`([^`]+)`")
_PAIR_BARE = re.compile(r"expected `([^`]+)`,? found (integer|floating-point number)")
_PAIR_BARE_LEFT = re.compile(r"expected (integer|floating-point number|bool|char),? found `([^`]+)`")
_PAIR_NOTE = re.compile(r"expected [^`\n]*`([^`\n]+)`\s*\n\s*found [^`\n]*`([^`\n]+)`")
_INFERRED = re.compile(r"declared on the (?:function|method|associated function) `(\w+)`")


_OPERATORS = (
    (r"cannot add `(?P<right>[^`]+)` to `(?P<left>[^`]+)`", "Add", "add"),
    (r"cannot subtract `(?P<right>[^`]+)` from `(?P<left>[^`]+)`", "Sub", "sub"),
    (r"cannot multiply `(?P<left>[^`]+)` by `(?P<right>[^`]+)`", "Mul", "mul"),
    (r"cannot divide `(?P<left>[^`]+)` by `(?P<right>[^`]+)`", "Div", "div"),
    (r"no implementation for `(?P<left>[^`]+?) & (?P<right>[^`]+)`", "BitAnd", "bitand"),
    (r"no implementation for `(?P<left>[^`]+?) \| (?P<right>[^`]+)`", "BitOr", "bitor"),
)
"""How messages name operators that a type lacks, with the traits of those."""


class _Repair:
    def __init__(self, plan: Plan, rendered: Rendered, uses: Uses, extra_lines: int) -> None:
        self.plan = plan
        self.rendered = rendered
        self.uses = uses
        self.extra_lines = extra_lines

    def owner(self, message: Message) -> str:
        spans = [span for span in message["spans"] if span["is_primary"]] or message["spans"]
        return self.owner_of(int(spans[0]["line_start"])) if spans else ""

    def owner_of(self, line: int) -> str:
        hole = self.rendered.hole
        if hole <= line <= hole + self.extra_lines:
            return "target"
        return self.rendered.owner(line if line < hole else line - self.extra_lines)

    # ------------------------------------------------------------------------------------- names

    def name_missing(self, message: Message) -> bool:
        text = message["message"]
        owner = self.owner(message)
        if owner.startswith(("use ", "extra ")):
            return False
        names = _TICKS.findall(text)
        if not names:
            return False
        name = names[0].rpartition("::")[2].removeprefix("r#")
        if "macro" in text and "cannot find" in text:
            return add_macro(self.plan, name, self.uses)
        if message["code"] == "E0405" or "cannot find trait" in text or "expected trait" in text:
            return add_trait(self.plan, name, self.uses)
        if "in this scope" not in text and "undeclared type" not in text and "use of" not in text:
            return self.member_missing(message)
        if message["code"] in ("E0412", "E0422", "E0531", "E0433") or "cannot find type" in text:
            if name[:1].islower() and message["code"] == "E0433":
                return False
            return add_type(self.plan, name, self.uses)
        if message["code"] == "E0425":
            if name == "self":
                return False
            return add_function(self.plan, name, self.uses)
        return False

    def member_missing(self, message: Message) -> bool:
        """``no method named …``, ``no field …``, ``no associated item …``, ``no variant …``."""
        text = message["message"]
        names = _TICKS.findall(text)
        if "is not an iterator" in text and names and is_open(self.plan, _bare(names[0])):
            name = _bare(names[0])
            return settle(self.plan, name, f"std::vec::IntoIter<{self.plan.fresh(name + '_item')}>")
        line = next((int(s["line_start"]) for s in message["spans"] if s["is_primary"]), 0)
        if len(names) < 2:
            return False
        name, of = names[0], names[1]
        of_name = re.sub(r"^&(?:'\w+ )?(?:mut )?|<.*", "", of).rpartition("::")[2]
        kind = self.plan.types.get(of_name)
        if "no method" in text or text.startswith("the method"):
            likely = LIKELY_TYPES.get(name)
            if likely is not None and of_name.startswith("Made_") and is_open(self.plan, of_name):
                while "?" in likely:
                    likely = likely.replace("?", self.plan.fresh(of_name + "_part"), 1)
                if settle(self.plan, of_name, likely):
                    return True
            if self.take_member(of_name, name):
                return True
            text = next((span["text"] for span in message["spans"] if span["is_primary"]), "")
            return add_method(self.plan, name, self.uses, line, text)
        if "field" in text:
            return self.field_missing(name, of_name) or (
                "no field" in text and self.field_missing(of_name, name)
            )
        if kind is not None and kind.alias is None:
            calls = (
                self.uses.paths.get(of_name, {}).get(name)
                or self.uses.paths.get("Self", {}).get(name)
                or [None]
            )
            called = next((call for call in calls if call is not None), None)
            if name[:1].isupper() and not name.isupper() and not kind.fields:
                if name in kind.variants:
                    return False
                kind.variants[name] = (
                    [self.plan.fresh(f"{of_name}_{name}") for _ in range(called.arity)] if called else None
                )
            elif called is not None:
                if name in kind.functions:
                    return False
                kind.functions[name] = own_function(name, called)
            else:
                if name in kind.constants:
                    return False
                kind.constants[name] = "Self"
            return True
        if self.take_member(of_name, name):
            return True
        return self.function_of_any(name)

    def function_of_any(self, name: str) -> bool:
        """``Type::name(…)`` where the type is there and the function is that of a trait which is not."""
        key = f"static {name}"
        calls = [
            call for inner in self.uses.paths.values() for call in inner.get(name, ()) if call is not None
        ]
        if key in self.plan.traits or not calls:
            return False
        kinds = [f"A{i}" for i in range(calls[0].arity)]
        listed = ", ".join(f"a{i}: A{i}" for i in range(calls[0].arity))
        parts = ", ".join(f"funcmem::Dump::encoded(&a{i})" for i in range(calls[0].arity))
        head = f"fn {name}<{', '.join([*kinds, 'R'])}>({listed}) -> R"
        self.plan.traits[key] = {
            "head": f"pub trait Made_static_{name} {{ {head}; }}",
            "impl": f"impl<T: ?Sized> Made_static_{name} for T "
            f'{{ {head} {{ funcmem::answer("{name}", vec![{parts}]) }} }}',
        }
        return True

    def take_member(self, of_name: str, name: str) -> bool:
        """Take a method of the file that was not reached by name before."""
        for item in self.plan.file.items:
            if item.kind != "impl" or item.name != of_name or f"item {item.index}" in self.plan.left_out:
                continue
            for place, member in enumerate(item.members):
                key = f"item {item.index}.{place}"
                if member.name == name and key not in self.plan.left_out:
                    if place in self.plan.taken.get(item.index, set()):
                        continue
                    self.plan.taken.setdefault(item.index, set()).add(place)
                    return True
        return False

    def field_missing(self, name: str, of_name: str) -> bool:
        kind = self.plan.types.get(of_name)
        if kind is None or name in kind.fields or (kind.alias is not None and not kind.is_weak):
            return False
        if not re.fullmatch(r"[A-Za-z_]\w*|\d+", name):
            return False
        kind.alias = None
        if name.isdigit():
            kind.shape = "tuple"
            for place in range(int(name) + 1):
                if str(place) not in kind.fields:
                    kind.fields[str(place)] = self.plan.fresh(f"{of_name}_{place}")
            return True
        kind.fields[name] = self.plan.fresh(f"{of_name}_{name}")
        return True

    # ------------------------------------------------------------------------------------- types

    def mismatch(self, message: Message) -> bool:
        texts = [str(span["label"]) for span in message["spans"]]
        texts += [child["message"] for child in message["children"]]
        changed = False
        for text in [message["message"], *texts]:
            for pattern in (_PAIR_NOTE, _PAIR, _PAIR_BARE, _PAIR_BARE_LEFT):
                for left, right in pattern.findall(text):
                    changed = unify(self.plan, left, right) or changed
        return changed

    def operands(self, message: Message) -> bool:
        """Operators on what stands in: it is of the other operand's type, or a number."""
        labels = [label for span in message["spans"] for label in _TICKS.findall(str(span["label"]))]
        named = [*_TICKS.findall(message["message"]), *labels]
        open_names = [name for name in map(_bare, named) if is_open(self.plan, name)]
        if not open_names:
            return self.operator(message)
        code = message["code"]
        if code == "E0600":
            return settle(self.plan, open_names[0], "bool" if "`!`" in message["message"] else "i64")
        for name in open_names:
            for other in named:
                text = normal(self.plan, _bare(other))
                is_operator = re.fullmatch(r"[-+*/%&|^<>=!.\[\]]+|\w+=", other)
                is_type = text and not is_operator and re.fullmatch(r"[\w:<>&' ,\[\]();]+", text)
                is_known = text and is_type and text != name and not is_open(self.plan, text)
                if text and is_known and settle(self.plan, name, text, weak="{" in other):
                    return True
        return settle(self.plan, open_names[0], "i64", weak=True)

    def operator(self, message: Message) -> bool:
        """An operator of a type that stands in and is no number."""
        text = message["message"]
        for pattern, trait, method in _OPERATORS:
            match = re.search(pattern, text)
            if match is None:
                continue
            left, right = match["left"], normal(self.plan, match["right"])
            kind = self.plan.types.get(_bare(left))
            if kind is None or kind.alias is not None or kind.parameters or kind.lifetimes or right is None:
                return False
            receiver = f"&'l {kind.name}" if left.startswith("&") else kind.name
            opening = "<'l>" if left.startswith("&") else ""
            body = (
                f'funcmem::answer("{kind.name}.{method}", '
                "vec![funcmem::Dump::encoded(&self), funcmem::Dump::encoded(&other)])"
            )
            return self.implement(
                kind.name,
                f"{trait}<{right}> for {receiver}",
                f"impl{opening} std::ops::{trait}<{right}> for {receiver} {{ type Output = {kind.name}; "
                f"fn {method}(self, other: {right}) -> {kind.name} {{ {body} }} }}",
            )
        return False

    def unfulfilled(self, message: Message) -> bool:
        """A trait that something lacks."""
        text = message["message"]
        names = _TICKS.findall(text)
        plan = self.plan
        if "can't compare" in text or re.search(
            r"cannot (?:add|subtract|multiply|divide|calculate)|no implementation for", text
        ):
            return self.operands(message)
        resolved = re.search(r"type mismatch resolving `<.* as (\w+)(?:<.*>)?>::(\w+) == ([^`]+)`", text)
        if resolved:
            inner = plan.traits.get(resolved[1], {}).get(f"type {resolved[2]}", "")
            return bool(inner) and unify(plan, inner, resolved[3])
        if "couldn't convert the error" in text:
            said = [text, *(span["label"] for span in message["spans"])]
            said += [child["message"] for child in message["children"]]
            found = [
                source
                for part in said
                for source in re.findall(r"`(?:From<([^`]+)>)`? (?:is not implemented|for)", part)
            ]
            target = re.search(r"the error to `([^`]+)`", text)
            return any(target and self.conversion(_bare(target[1]), source) for source in found)
        bound = re.search(r"the trait bound `([^`]+): ([^`]+)` is not satisfied", text)
        if bound:
            return self.bound(_bare(bound[1]), bound[2], bound[1])
        if "is not an iterator" in text and names:
            name = _bare(names[0])
            if is_open(plan, name):
                return settle(plan, name, f"std::vec::IntoIter<{plan.fresh(name + '_item')}>")
        if "`?` operator can only be applied" in text:
            labels = [label for span in message["spans"] for label in _TICKS.findall(str(span["label"]))]
            for name in map(_bare, [*names, *labels]):
                if is_open(plan, name):
                    is_option = "-> Option" in plan.function.signature
                    inner = plan.fresh(name + "_value")
                    error = plan.fresh(name + "_error")
                    return settle(
                        plan,
                        name,
                        f"Option<{inner}>" if is_option else f"std::result::Result<{inner}, {error}>",
                    )
        if "cannot be indexed by" in text:
            for name in map(_bare, names):
                kind = plan.types.get(name)
                if kind is not None and kind.fields and set(kind.fields) <= {"start", "end"}:
                    kind.fields = {}
                    return settle(plan, name, "std::ops::Range<usize>")
                if is_open(plan, name):
                    return settle(plan, name, "std::ops::Range<usize>" if "`str`" in text else "usize")
        if "size for values" in text or "cannot be known" in text:
            return False
        match = re.search(r"`([^`]+)` doesn't implement", text)
        if match and is_open(plan, _bare(match[1])):
            return False
        return False

    def conversion(self, target: str, source: str) -> bool:
        """``?`` turns one error into another."""
        plan = self.plan
        text = normal(plan, source)
        while text in plan.types and plan.types[text].alias is not None:
            text = plan.types[text].alias
        if text is None or text == target or text not in (source, normal(plan, source)):
            # What it is became known by another message: the next round tells what is left.
            return text == target
        kind = plan.types.get(target)
        if kind is None or kind.alias is not None:
            if is_open(plan, source):
                return settle(plan, source, target)
            key = f"convert {target} {text}"
            own = plan.names.own | set(plan.types)
            if key in plan.traits or not {target, text} & own or not re.fullmatch(r"[\w:]+", target):
                return False
            plan.traits[key] = {
                "impl": f"impl From<{text}> for {target} {{ fn from(value: {text}) -> Self "
                f'{{ funcmem::answer("{target}::from", vec![funcmem::Dump::encoded(&value)]) }} }}'
            }
            return True
        key = f"From<{text}>"
        if key in kind.impls or kind.parameters:
            return False
        if is_open(plan, source):
            return settle(plan, source, target)
        kind.impls[key] = (
            f"impl From<{text}> for {target} {{ fn from(value: {text}) -> Self "
            f'{{ funcmem::answer("{target}::from", vec![funcmem::Dump::encoded(&value)]) }} }}'
        )
        return True

    def bound(self, name: str, trait: str, whole: str) -> bool:
        plan = self.plan
        short = re.split(r"[<(]", trait)[0].rpartition("::")[2]
        argument = re.search(r"<(.*)>", trait)
        inner = normal(plan, argument[1]) if argument else None
        if is_open(plan, name):
            guess = {
                "AsRef": {"str": "String", "[u8]": "Vec<u8>", "Path": "std::path::PathBuf"}.get(
                    argument[1] if argument else "", ""
                ),
                "Into": inner or "",
                "From": inner or "",
                "Iterator": f"std::vec::IntoIter<{plan.fresh(name)}>",
                "Read": "std::io::Cursor<Vec<u8>>",
                "Write": "Vec<u8>",
                "SliceIndex": "usize",
                "Borrow": inner or "",
                "Pattern": "char",
                "FromStr": "i64",
                "Error": "std::fmt::Error",
                "Sum": "i64",
            }.get(short, "")
            if guess and settle(plan, name, guess):
                return True
        if short in ("Extend", "FromIterator", "Sum", "Product") and argument:
            element = re.search(r"<(.*)>", whole)
            left = element[1] if element and short in ("Extend", "FromIterator") else whole
            if unify(plan, left, argument[1]) or unify(plan, left, _bare(argument[1])):
                return True
        kind = plan.types.get(name)
        if kind is not None and kind.alias is None and short == "Error":
            return self.implement(kind.name, "Error", f"impl std::error::Error for {kind.name} {{}}")
        if short == "From" and inner:
            return self.conversion(name, inner)
        if short in plan.traits and "head" in plan.traits[short] and "blanket" not in plan.traits[short]:
            text = normal(plan, whole)
            members = plan.traits[short]["head"]
            if text and "fn " not in members and "type " not in members:
                key = f"for {text}"
                if key not in plan.traits[short]:
                    plan.traits[short][key] = f"impl {trait} for {text} {{}}"
                    return True
        return False

    def not_a_value(self, message: Message) -> bool:
        """What was taken for a type is a constant."""
        name = next(iter(_TICKS.findall(message["message"])), "")
        kind = self.plan.types.get(name)
        if kind is None or kind.fields or kind.variants or kind.functions or name in self.plan.constants:
            return False
        del self.plan.types[name]
        self.plan.constants[name] = self.plan.fresh(name)
        return True

    def associated_type(self, message: Message) -> bool:
        """A type of a trait that stands in."""
        match = re.search(r"associated type `(\w+)` not found", message["message"])
        if match is None:
            return False
        plan = self.plan
        changed = False
        for name, parts in plan.traits.items():
            if "blanket" in parts and f"type {match[1]};" not in parts["head"]:
                parts["head"] = parts["head"].rstrip("} ") + f" type {match[1]}; }}"
                inner = parts[f"type {match[1]}"] = plan.fresh(f"{name}_{match[1]}")
                parts["blanket"] = parts["blanket"].rstrip("} ") + f" type {match[1]} = {inner}; }}"
                changed = True
        return changed

    def implement(self, name: str, what: str, text: str) -> bool:
        kind = self.plan.types[name]
        if what in kind.impls:
            return False
        kind.impls[what] = text
        return True

    def undecided(self, message: Message) -> bool:
        """A result that no use decides gets a type of its own."""
        texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
        texts += [child["message"] for child in message["children"]]
        names = [name for text in texts for name in _INFERRED.findall(text)]
        names += [word for span in message["spans"] for word in re.findall(r"\w+", span["text"])]
        for name in names:
            for table in self.tables():
                function = table.get(name)
                if function is not None and function.result is None:
                    function.result = self.plan.fresh(name)
                    return True
        return False

    def tables(self) -> list[dict[str, StandInFunction]]:
        return [
            self.plan.methods,
            self.plan.functions,
            *(kind.functions for kind in self.plan.types.values()),
        ]

    def used_as(self, message: Message) -> bool:
        """What is indexed, dereferenced, called or cast."""
        plan = self.plan
        labels = [label for span in message["spans"] for label in _TICKS.findall(str(span["label"]))]
        for whole in [*_TICKS.findall(message["message"]), *labels]:
            name = _bare(whole)
            if not is_open(plan, name):
                continue
            match message["code"]:
                case "E0608":
                    return settle(plan, name, f"Vec<{plan.fresh(name + '_item')}>")
                case "E0614":
                    return settle(plan, name, f"&'static {plan.fresh(name + '_value')}")
                case "E0604" | "E0605" | "E0606" | "E0607":
                    return settle(plan, name, "i64", weak=True)
                case "E0599":
                    return False
                case "E0618":
                    return False
        return False

    # --------------------------------------------------------------------------------- last resort

    def leave_out(self, owner: str) -> bool:
        """Do without whatever a message is about."""
        plan = self.plan
        if owner.startswith(("use ", "make ", "dump ")):
            if owner in plan.left_out:
                return False
            plan.left_out.add(owner)
            return True
        if owner.startswith("extra "):
            return plan.extra.pop(owner[6:], "gone") is None
        if owner.startswith("item "):
            index, _, place_text = owner[5:].partition(".")
            item = plan.file.items[int(index)]
            place = int(place_text) if place_text else -1
            node = item.members[place].node if place >= 0 else item.node
            is_function = (item.members[place].kind if place >= 0 else item.kind) == "fn"
            if item.kind in ("struct", "enum") and plan.derives:
                plan.derives = frozenset()
                return True
            has_body = is_function and node.child_by_field_name("body") is not None
            if has_body and (item.index, place) not in plan.replaced and item.kind != "trait":
                plan.replaced.add((item.index, place))
                return True
            if item is plan.file.target and place < 0:
                return False
            if place >= 0 and not item.trait:
                plan.left_out.add(owner)
                plan.taken.get(item.index, set()).discard(place)
                return True
            if item is plan.file.target:
                return False
            plan.left_out.add(f"item {item.index}")
            plan.taken.pop(item.index, None)
            return True
        word, _, name = owner.partition(" ")
        if word == "method":
            return plan.methods.pop(name, None) is not None
        if word == "type" and name in plan.types:
            kind = plan.types[name]
            if kind.impls:
                kind.impls.clear()
                return True
            if kind.alias is not None and kind.is_weak:
                kind.alias = None
                return True
        return False


def _in_one_module(message: Message) -> Message:
    """A message whose types are named as the scaffold names them."""
    strip = re.compile(r"\b(?:crate::|main::)?p\d+::")
    return {
        **message,
        "message": strip.sub("", message["message"]),
        "spans": [{**span, "label": strip.sub("", span["label"])} for span in message["spans"]],
        "children": [{**child, "message": strip.sub("", child["message"])} for child in message["children"]],
    }


def _bare(text: str) -> str:
    return re.sub(r"^(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+", "", text.strip())


_MISSING = frozenset({"E0412", "E0422", "E0531", "E0433", "E0425", "E0405", "E0404", ""})
_MEMBERS = frozenset({"E0599", "E0609", "E0610", "E0615", "E0560", "E0026", "E0576"})
_OPERANDS = frozenset({"E0369", "E0368", "E0600"})


def repair(
    plan: Plan, rendered: Rendered, messages: Sequence[Message], uses: Uses, *, code_lines: int
) -> bool:
    """Change a plan by what a compiler said of it; whether anything changed."""
    work = _Repair(plan, rendered, uses, code_lines - 1)
    messages = [_in_one_module(message) for message in messages]
    changed = False
    for message in messages:
        code = message["code"]
        owner = work.owner(message)
        handled = False
        if code in (
            "E0432",
            "E0433",
            "E0252",
            "E0254",
            "E0255",
            "E0428",
            "E0603",
            "E0365",
        ) and owner.startswith(("use ", "extra ")):
            handled = work.leave_out(owner)
        elif code in ("E0423", "E0532") and "found struct" in message["message"]:
            handled = work.not_a_value(message)
        elif code in _MISSING:
            handled = work.name_missing(message)
        elif code == "E0408":
            name = next(iter(_TICKS.findall(message["message"])), "")
            handled = name[:1].isupper() and add_function(plan, name, uses)
        elif code == "E0015" and owner.startswith(("item ", "target")) and not plan.is_const_stripped:
            plan.is_const_stripped = handled = True
        elif code == "E0220":
            handled = work.associated_type(message)
        elif code in _MEMBERS:
            handled = work.member_missing(message)
        elif code == "E0308":
            handled = work.mismatch(message)
        elif code in _OPERANDS:
            handled = work.operands(message)
        elif code in ("E0277", "E0271"):
            handled = work.unfulfilled(message) or work.mismatch(message)
        elif code in ("E0282", "E0283", "E0284"):
            handled = work.undecided(message)
        elif code in ("E0608", "E0614", "E0604", "E0605", "E0606", "E0607", "E0618"):
            handled = work.used_as(message)
        elif code == "E0204" and owner.startswith("type "):
            kind = plan.types.get(owner[5:])
            if kind is not None and kind.is_copy:
                kind.is_copy, handled = False, True
        elif code == "E0782" and plan.edition == "2021":
            plan.edition, handled = "2018", True
        changed = handled or changed
    if not changed:
        for owner in dict.fromkeys(work.owner(message) for message in messages):
            if owner and owner not in ("target", "driver", "macros"):
                changed = work.leave_out(owner) or changed
    if changed:
        grow(plan)
    return changed
