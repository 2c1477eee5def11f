"""Mends what something lacks: traits that a type has to have, and conversions to other types."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.callables import built_by_name
from pytest_funcmem.harness.compiled.rust.concrete import choose_concrete, choose_made
from pytest_funcmem.harness.compiled.rust.fitting import operands
from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.implementations import (
    cut_by,
    implement_iterator,
    implement_trait,
)
from pytest_funcmem.harness.compiled.rust.messages import PAIR, TICKS, Message, Work, bare
from pytest_funcmem.harness.compiled.rust.reopening import owned_after_all
from pytest_funcmem.harness.compiled.rust.results import answered, loosened, tried, unsized
from pytest_funcmem.harness.compiled.rust.signature import split_types
from pytest_funcmem.harness.compiled.rust.traits import given_trait, made_to_have
from pytest_funcmem.harness.compiled.rust.typetext import is_open, normal, settle, unify

__all__ = ["made_from", "passed_on", "unfulfilled"]


def made_from(work: Work, message: Message) -> bool:
    """``Type::from(value)`` where only the conversion of a type to itself is known."""
    said = " ".join(str(span["text"]) for span in message["spans"])
    if "::from(" not in said:
        return False
    for span in message["spans"]:
        for expected, found in PAIR.findall(str(span["label"])) if span["is_primary"] else ():
            if expected in work.plan.names.own | set(work.plan.types) and conversion(work, expected, found):
                return True
    return False


def collected(work: Work, whole: str, element: str) -> bool:
    """What is put together from values one by one, and the values."""
    plan, name = work.plan, bare(whole)
    if is_open(plan, name):
        text = plan.fresh(name + "_item") if element == "_" else normal(plan, element)
        return text is not None and settle(plan, name, f"Vec<{text}>")
    if name == "String" or name.endswith("::String"):
        return is_open(plan, bare(element)) and settle(plan, bare(element), "char")
    held = re.search(r"<(.*)>\Z", name)
    parts = split_types(held[1]) if held else []
    if re.match(r"(?:\w+::)*(?:HashMap|BTreeMap)<", name) and len(parts) > 1:
        if is_open(plan, bare(element)):
            return settle(plan, bare(element), f"({parts[0]}, {parts[1]})")
        return unify(plan, f"({parts[0]}, {parts[1]})", element)
    return bool(parts) and unify(plan, parts[0], element)


def unfulfilled(work: Work, message: Message) -> bool:
    """A trait that something lacks."""
    text = message["message"]
    names = TICKS.findall(text)
    plan = work.plan
    unknown = re.search(r"cannot \S+ `\(\)` (?:to|from|by) `([^`]+)`", text)
    if unknown and answered(work, message, unknown[1]):
        return True
    if "can't compare `&str` with `str`" in text and owned_after_all(work):
        return True
    if "can't compare" in text or re.search(
        r"cannot (?:add|subtract|multiply|divide|calculate)|no implementation for", text
    ):
        return operands(work, message)
    if "closure, found" in text:
        return built_by_name(work, message)
    awaited = re.search(r"`([^`]+)` is not a future", text)
    if awaited:
        name = bare(awaited[1])
        if is_open(plan, name):
            return settle(plan, name, f"std::future::Ready<{plan.fresh(name + '_value')}>")
        return implement_trait(plan, name, "Future")
    resolved = re.search(r"type mismatch resolving `<.* as (\w+)(?:<.*>)?>::(\w+) == ([^`]+)`", text)
    if resolved:
        if read_after_all(work, text, resolved[1]):
            return True
        inner = plan.traits.get(resolved[1], {}).get(f"type {resolved[2]}", "")
        if not inner:
            own = re.search(r"`<(.*) as ", text)
            inner = _own_type_of(work, bare(own[1]) if own else "", resolved[1], resolved[2])
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
        return any(target and conversion(work, bare(target[1]), source) for source in found)
    lacking = re.search(r"the trait bound `([^`]+): ([^`]+)` is not satisfied", text)
    if lacking:
        holder = plan.types.get(work.owner(message).removeprefix("type "))
        if holder is not None and holder.is_clone and lacking[2] in ("Clone", "Copy"):
            was_copy, holder.is_copy = holder.is_copy, False
            holder.is_clone = was_copy and lacking[2] == "Copy"
            return True
        notes = "\n".join(child["message"] for child in message["children"])
        if choose_concrete(plan, lacking[2], notes):
            return True
        return bound(work, bare(lacking[1]), lacking[2], lacking[1])
    if "is not an iterator" in text and names:
        return iterated(work, names[0])
    built = re.search(r"value of type `([^`]+)` cannot be built .* elements of type `([^`]+)`", text)
    if built:
        return collected(work, built[1], built[2]) or listed(work, built[1])
    if "`?` operator can only be" in text:
        return tried(work, message)
    if "size for values of type `Self`" in text:
        return sized(work, message)
    if "cannot be indexed by" in text:
        for name in map(bare, names):
            kind = plan.types.get(name)
            if kind is not None and kind.fields and set(kind.fields) <= {"start", "end"}:
                kind.fields = {}
                return settle(plan, name, "std::ops::Range<usize>")
            if is_open(plan, name):
                return settle(plan, name, "std::ops::Range<usize>" if "`str`" in text else "usize")
            if name in plan.types and any(cut_by(plan, bare(of), name) for of in names):
                return True
    if "size for values" in text and any(relaxed(work, child["message"]) for child in message["children"]):
        return True
    if "size for values" in text or "cannot be known" in text:
        return unsized(work, message)
    match = re.search(r"`([^`]+)` doesn't implement `([^`]+)`", text)
    if match and not is_open(plan, bare(match[1])):
        return implement_trait(plan, bare(match[1]), match[2])
    return False


def relaxed(work: Work, text: str) -> bool:
    """A trait that stands in and is given a type without a size."""
    match = re.search(r"required by an implicit `Sized` bound in `(\w+)", text)
    parts = work.plan.traits.get(match[1] if match else "", {})
    changed = False
    for key in ("head", "blanket"):
        opening, brace, rest = parts.get(key, "").partition("{")
        first, bracket, inner = opening.partition("<")
        text = re.sub(r"\b(T\d)(?=[,>])", r"\1: ?Sized", inner.partition(">")[0] + ">")
        if bracket and "?Sized" in text and "T0: ?Sized" not in opening:
            parts[key] = first + bracket + text + inner.partition(">")[2] + brace + rest
            changed = True
    return changed


def listed(work: Work, whole: str) -> bool:
    """What was taken for an iterator since it is walked through, and is put together from values."""
    inner = re.fullmatch(r"(?:std::vec::)?IntoIter<(\w+)>", bare(whole))
    for kind in work.plan.types.values() if inner else ():
        if inner and kind.alias == f"std::vec::IntoIter<{inner[1]}>":
            kind.alias = f"Vec<{inner[1]}>"
            return True
    return False


def read_after_all(work: Work, text: str, trait: str) -> bool:
    """What was taken for a number since it is read from a text, and fails otherwise than one."""
    if trait != "FromStr" or "`<i64 as" not in text:
        return False
    for change in sorted(work.plan.history):
        kind = work.plan.types.get(change[-1]) if change[0] == "read from a text" else None
        if kind is not None and kind.alias == "i64":
            kind.alias = None
            return implement_trait(work.plan, kind.name, trait)
    return False


def _own_type_of(work: Work, owner: str, trait: str, name: str) -> str:
    """What the file says an associated type of one of its types is; "" where it says nothing."""
    for item, members in work.plan.taken_items():
        if item.kind == "impl" and item.name == owner.partition("<")[0] and item.trait == trait:
            for _, member in members:
                kind = member.node.child_by_field_name("type")
                if member.kind == "type" and member.name == name and kind is not None:
                    return flattened(work.plan.file.tree.source(kind), work.plan.names)
    made = work.plan.types.get(owner)
    for text in made.impls.values() if made is not None else ():
        found = re.search(rf"\b{trait}\b[^{{]*{{ type {name} = (\w+);", text)
        if found:
            return found[1]
    return ""


def sized(work: Work, message: Message) -> bool:
    """A trait that stands in and gives its own values away."""
    name = work.owner(message).partition("trait ")[2]
    parts = work.plan.traits.get(name, {})
    left, brace, right = parts.get("head", "").partition(" {")
    if not brace or left.endswith("Sized"):
        return False
    parts["head"] = f"{left}{' + ' if ': ' in left else ': '}Sized{brace}{right}"
    return True


def iterated(work: Work, whole: str) -> bool:
    """What is walked through is a list where it is behind a reference, else an iterator."""
    plan = work.plan
    name = bare(whole)
    is_reference = whole.lstrip().startswith("&")
    kind = plan.types.get(name)
    inner = re.fullmatch(r"(?:std::vec::)?IntoIter<(\w+)>", name)
    if is_reference and inner:
        # It was taken for an iterator where it was walked through by value.
        found = False
        for other in plan.types.values():
            if other.alias is not None and re.fullmatch(rf"std::vec::IntoIter<{inner[1]}>", other.alias):
                other.alias, found = f"Vec<{inner[1]}>", True
        return found
    if is_open(plan, name):
        item = plan.fresh(name + "_item")
        return settle(plan, name, f"Vec<{item}>" if is_reference else f"std::vec::IntoIter<{item}>")
    return (kind is not None or name in plan.names.own) and implement_iterator(
        plan, name, by_reference=is_reference
    )


def passed_on(work: Work, message: Message) -> bool:
    """A function that is given away by name, and takes another type than it is called with."""
    said = "\n".join(child["message"] for child in message["children"])
    both = re.search(
        r"expected \w+ signature `fn\((.*)\) -> .*`\s*\n\s*found \w+ signature `fn\((.*)\) -> ", said
    )
    if both is None:
        return False
    pairs = list(zip(split_types(both[1]), split_types(both[2]), strict=False))
    if any(unify(work.plan, asked, taken) for asked, taken in pairs):
        return True
    is_from = any(re.search(r"\w::from\b", str(span["text"])) for span in message["spans"])
    return is_from and len(pairs) == 1 and conversion(work, bare(pairs[0][1]), pairs[0][0])


def conversion(work: Work, target: str, source: str) -> bool:
    """``?`` turns one error into another."""
    plan = work.plan
    text = normal(plan, source)
    while text in plan.types and plan.types[text].alias is not None:
        text = plan.types[text].alias
    if text is None or text == target or text not in (source, normal(plan, source)):
        # What it is became known by another message: the next round tells what is left.
        return text == target
    kind = plan.types.get(target)
    if kind is None or kind.alias is not None:
        if is_open(plan, source):
            whole = normal(plan, target)
            return settle(plan, source, whole) if whole is not None else loosened(work, source)
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


def bound(work: Work, name: str, trait: str, whole: str) -> bool:
    """A trait that a type lacks: what may be anything becomes a type that has it."""
    plan = work.plan
    short = re.split(r"[<(]", trait)[0].rpartition("::")[2]
    argument = re.search(r"<(.*)>", trait)
    inner = normal(plan, argument[1]) if argument else None
    if is_open(plan, name):
        guess = {
            "AsRef": {"str": "String", "[u8]": "Vec<u8>", "Path": "std::path::PathBuf"}.get(
                argument[1] if argument else "", ""
            ),
            "Into": inner or "",
            # A text that is kept for ever is one of many that an owned text is made from.
            "From": "String" if inner == "&'static str" else inner or "",
            "Iterator": f"std::vec::IntoIter<{plan.fresh(name)}>",
            "Read": "std::io::Cursor<Vec<u8>>",
            "Write": "Vec<u8>",
            "SliceIndex": "usize",
            "Borrow": inner or "",
            "Pattern": "char",
            "FromStr": "i64",
            "Error": "std::fmt::Error",
            "Sum": "i64",
            **dict.fromkeys(("Binary", "LowerHex", "UpperHex", "Octal"), "i64"),
        }.get(short, "")
        if guess and settle(plan, name, guess):
            plan.history |= {("read from a text", name)} if short == "FromStr" else set()
            return True
    if inner and is_open(plan, inner) and short in ("Borrow", "PartialEq", "PartialOrd", "AsRef", "Into"):
        text = normal(plan, whole)
        if text is not None and settle(plan, inner, text.removeprefix("&'static ")):
            return True
    if short in ("Extend", "FromIterator", "Sum", "Product") and argument:
        element = re.search(r"<(.*)>", whole)
        left = element[1] if element and short in ("Extend", "FromIterator") else whole
        if unify(plan, left, argument[1]) or unify(plan, left, bare(argument[1])):
            return True
    kind = plan.types.get(name)
    if kind is not None and kind.alias is None and short == "Error":
        return implement(work, kind.name, "Error", f"impl std::error::Error for {kind.name} {{}}")
    if short == "From" and inner:
        return conversion(work, name, inner)
    if short in plan.traits and "head" in plan.traits[short] and "blanket" not in plan.traits[short]:
        text = normal(plan, whole)
        members = plan.traits[short]["head"]
        if text and "fn " not in members and "type " not in members:
            key = f"for {text}"
            if key not in plan.traits[short]:
                plan.traits[short][key] = f"impl {trait} for {text} {{}}"
                return True
    if short in plan.traits and name not in plan.types and made_to_have(plan, short, inner or ""):
        return choose_made(plan, short)
    if implement_trait(plan, name, trait):
        return True
    text = normal(plan, whole)
    return text is not None and given_trait(plan, text, short, inner or "")


def implement(work: Work, name: str, what: str, text: str) -> bool:
    """Give a type that stands in an implementation, once."""
    kind = work.plan.types[name]
    if what in kind.impls:
        return False
    kind.impls[what] = text
    return True
