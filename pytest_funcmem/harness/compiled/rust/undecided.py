"""Mends what a compiler cannot decide about what stands in: types that no use tells, moves and lifetimes."""

from __future__ import annotations

import re

from pytest_funcmem.harness.compiled.rust.callables import given_back
from pytest_funcmem.harness.compiled.rust.messages import Message, Work
from pytest_funcmem.harness.compiled.rust.plan import StandInType
from pytest_funcmem.harness.compiled.rust.uses import find_uses

__all__ = ["moved", "outlived", "owned", "undecided", "unnamed_lifetime", "written_to"]

_INFERRED = re.compile(r"declared on the (?:function|method|associated function) `(\w+)`")
_ARGUMENT = re.compile(
    r"type parameter `A(\d+)` declared on the (?:function|method|associated function) `(\w+)`"
)
_LIKELY_ENDS = (
    (".as_ref()", "&str"),
    ("null()", "*const u8"),
    ("null_mut()", "*mut u8"),
    ("as *const _", "*const u8"),
    ("as *mut _", "*mut u8"),
    (".into()", "String"),
    (".collect()", "Vec<?>"),
    ("None", "Option<?>"),
    ("Cursor::new(Vec::new())", "std::io::Cursor<Vec<u8>>"),
    ("Vec::new()", "Vec<?>"),
    ("vec![]", "Vec<?>"),
    ("Default::default()", "?"),
)
"""What an argument may be of several things, by how its text ends; ``?`` is of a type of its own."""


def undecided(work: Work, message: Message) -> bool:
    """A result that no use decides gets a type of its own, and so does what a closure is given."""
    texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
    texts += [child["message"] for child in message["children"]]
    names = [name for text in texts for name in _INFERRED.findall(text)]
    said = [
        re.sub(r"funcmem::hit\(\d+\);\s*", "", str(span["text"])).strip(" ,;") for span in message["spans"]
    ]
    names += [word for text in said for word in re.findall(r"\w+", text)]
    # Of a closure that is given to a call, the call's name stands on another line.
    names += [
        name
        for name, call in work.uses.all_calls()
        if call.closures and any(text and text in part for text in said for part in call.arguments)
    ]
    if given_back(work, message):
        return True
    for name in names:
        if _static_decided(work, name):
            return True
        for table in work.tables():
            function = table.get(name)
            if (
                function is not None
                and function.result is None
                and (not function.turbofish or 0 in function.inferred)
            ):
                function.result = work.plan.fresh(name)
                return True
            if function is not None and function.free and function.result is not None:
                free = function.free.pop()
                function.result = re.sub(rf"\b{free}\b", work.plan.fresh(name), function.result)
                return True
    for place_text, name in (found for text in texts for found in _ARGUMENT.findall(text)):
        if argument_typed(work, name, int(place_text)):
            return True
    for name in names:
        for table in work.tables():
            function = table.get(name)
            for place, count in function.closures.items() if function is not None else ():
                for number in range(count):
                    if function is not None and (place, number) not in function.given:
                        function.given[place, number] = work.plan.fresh(f"{name}_given")
                        return True
    whole = " ".join(texts)
    match = re.search(
        r"type annotations needed for `(\w+)<[^`]*_|declared on the (?:struct|enum) `(\w+)`", whole
    )
    kind = work.plan.types.get(match[1] or match[2]) if match else None
    if kind is not None and kind.parameters and kind.functions and not kind.is_fixed:
        kind.is_fixed = True
        return True
    for name, body in work.plan.macros.items():
        if name in names and f'funcmem::answer("{name}!"' in body:
            is_quoted = name.startswith("quote") and "TokenStream" in work.plan.types
            result = "TokenStream" if is_quoted else work.plan.fresh(name)
            typed = f'funcmem::answer::<{result}>("{name}!"'
            work.plan.macros[name] = body.replace(f'funcmem::answer("{name}!"', typed)
            return True
    if message["code"] == "E0641":
        return any(
            argument_typed(work, name, place)
            for name, call in work.uses.all_calls()
            for place, text in enumerate(call.arguments)
            if text.endswith(("*mut _", "*const _"))
        )
    for name, call in work.uses.all_calls():
        for place, text in enumerate(call.arguments):
            is_open_end = any(text.endswith(end) for end, _ in _LIKELY_ENDS)
            is_shown = is_open_end and any(text in part for part in said)
            if is_shown and argument_typed(work, name, place):
                return True
    if any(_lent(work, variable) for variable in re.findall(r"let (?:mut )?(\w+)", " ".join(said))):
        return True
    # Whatever else is not known may be what this depends on.
    for table in work.tables():
        for name, function in table.items():
            if function.result is None and not function.turbofish:
                function.result = work.plan.fresh(name)
                return True
    return False


def _static_decided(work: Work, name: str) -> bool:
    """A function of a type whose trait is not there: what it gives gets a type of its own."""
    parts = work.plan.traits.get(f"static {name}", {})
    if not re.search(r"\bR>\(", parts.get("head", "")):
        return False
    kind = work.plan.fresh(name)
    for key in ("head", "impl"):
        parts[key] = re.sub(
            r"(?:, |<)R>\(", lambda match: "(" if match[0][0] == "<" else ">(", parts[key], count=1
        )
        parts[key] = parts[key].replace("-> R ", f"-> {kind} ").replace("-> R;", f"-> {kind};")
    return True


def _lent(work: Work, variable: str) -> bool:
    """A variable that only something which stands in could tell the type of."""
    is_it = re.compile(rf"(?:&\s*)?(?:mut\s+)?{variable}")
    return any(
        is_it.fullmatch(text) is not None and argument_typed(work, name, place)
        for name, call in work.uses.all_calls()
        for place, text in enumerate(call.arguments)
    )


def argument_typed(work: Work, name: str, place: int) -> bool:
    """Give a parameter of what stands in a type, where an argument may be of several."""
    calls = [call for called, call in work.uses.all_calls() if called == name]
    texts = [call.arguments[place] for call in calls if place < len(call.arguments)]
    for table in work.tables():
        function = table.get(name)
        if function is None or place in function.types or place in function.closures:
            continue
        text = texts[0] if texts else ""
        likely = next((kind for end, kind in _LIKELY_ENDS if text.endswith(end)), "?")
        marks = re.match(r"(?:&\s*(?:mut\s+)?)*", text)
        prefix = marks[0] if marks else ""
        function.types[place] = prefix + likely.replace("?", work.plan.fresh(name))
        return True
    return False


def outlived(work: Work, message: Message) -> bool:
    """A part that stands in is a reference that lives shorter: whoever makes the whole decides its type."""
    texts = [message["message"], *(str(span["label"]) for span in message["spans"])]
    if not any("'static" in text or "long enough" in text or "escapes" in text for text in texts):
        return False
    changed = False
    uses = find_uses(work.plan.file.tree.text)
    named, named_patterns = uses.types, set(uses.tuples_of)
    for kind in work.plan.types.values():
        if kind.alias is None and kind.name not in named and (kind.variants or kind.name in named_patterns):
            changed = _shortlived(work, kind) or changed
            continue
        if kind.shape != "literal" or kind.alias is not None or kind.variants or kind.name in named:
            continue
        for name, text in kind.fields.items():
            if _holds_reference(work, text):
                kind.fields[name] = f"T{kind.parameters}"
                kind.parameters += 1
                changed = True
    return changed


def _shortlived(work: Work, kind: StandInType) -> bool:
    """Give a type that holds references a lifetime; the file nowhere writes it as a type."""
    parts = [*kind.fields.values()]
    for payload in kind.variants.values():
        parts += payload.values() if isinstance(payload, dict) else payload or ()
    if kind.lifetimes or not any(_holds_reference(work, text) for text in parts):
        return False
    _give_lifetime(work, kind)
    return True


def _give_lifetime(work: Work, kind: StandInType) -> None:
    """Let a type take a lifetime, wherever it is a part of what stands in."""
    plan = work.plan
    kind.lifetimes = 1

    def mark(text: str, lifetime: str = "'static") -> str:
        return re.sub(rf"\b{kind.name}\b(?!\s*<)", f"{kind.name}<{lifetime}>", text)

    for other in plan.types.values():
        if other.alias is not None:
            other.alias = mark(other.alias, "'l0" if other.lifetimes else "'static")
        other.fields = {name: mark(text) for name, text in other.fields.items()}
        for name, payload in other.variants.items():
            if isinstance(payload, dict):
                other.variants[name] = {field: mark(text) for field, text in payload.items()}
            elif payload is not None:
                other.variants[name] = [mark(text) for text in payload]
    for table in work.tables():
        for function in table.values():
            function.result = None if function.result is None else mark(function.result)


def unnamed_lifetime(work: Work, message: Message) -> bool:
    """A function gives a reference, and nothing that it takes has a lifetime that it could be of."""
    for span in message["spans"]:
        taken = str(span["text"]).partition("->")[0].partition("(")[2]
        for name in re.findall(r"\b[A-Z]\w*", taken):
            kind = work.plan.types.get(name)
            if kind is not None and kind.alias is None and not kind.lifetimes:
                _give_lifetime(work, kind)
                return True
    return False


def written_to(work: Work, message: Message) -> bool:
    """What was taken for a reference since it is dereferenced, and is written through."""
    said = " ".join(str(span["label"]) for span in message["spans"])
    asked = re.search(r"to be: `&mut ([^`]+)`", said)
    changed = False
    assigned = re.match(r"cannot assign to `\*[\w.]*\.(\w+)`", message["message"])
    for held in [kind.fields.get(assigned[1], "") for kind in work.plan.types.values()] if assigned else ():
        part = work.plan.types.get(held)
        if part is not None and re.match(r"&'static (?!mut\b)", part.alias or ""):
            part.alias, changed = str(part.alias).replace("&'static ", "&'static mut ", 1), True
    for kind in work.plan.types.values():
        if asked and kind.alias is not None and re.match(r"&'static (?!mut\b)\w+\Z", kind.alias):
            inner = kind.alias.removeprefix("&'static ")
            while inner in work.plan.types and work.plan.types[inner].alias is not None:
                inner = str(work.plan.types[inner].alias)
            if inner.rpartition("::")[2] == asked[1].rpartition("::")[2]:
                kind.alias, changed = kind.alias.replace("&'static ", "&'static mut ", 1), True
    return changed


def _holds_reference(work: Work, text: str, depth: int = 0) -> bool:
    if "&'static" in text:
        return True
    kind = work.plan.types.get(text)
    return (
        kind is not None
        and kind.alias is not None
        and depth < 8
        and _holds_reference(work, kind.alias, depth + 1)
    )


def owned(work: Work, message: Message) -> bool:
    """What was taken for a reference since it is dereferenced, and gives away what it leads to."""
    labels = " ".join(str(span["label"]) for span in message["spans"])
    match = re.search(r"move occurs because `\*\w+` has type `([^`]+)`", labels)
    for kind in work.plan.types.values() if match else ():
        led = re.fullmatch(r"&'static (?:mut )?(\w+)", kind.alias or "")
        inner = led[1] if led else ""
        while inner in work.plan.types and work.plan.types[inner].alias is not None:
            inner = str(work.plan.types[inner].alias)
        if led and match and inner.rpartition("::")[2] == match[1].rpartition("::")[2]:
            kind.alias = f"Box<{led[1]}>"
            return True
    return False


def moved(work: Work, message: Message) -> bool:
    """A reference that was given away to what stands in: it takes it for a while only."""
    labels = " ".join(str(span["label"]) for span in message["spans"])
    match = re.search(r"move occurs because `([^`]+)` has type `(&mut|Option<&mut)", labels)
    is_given = message["code"] == "E0507" or "value moved here" in labels
    if match is None or not is_given:
        return False
    changed = False
    for name, call in work.uses.all_calls():
        if match[1] not in call.arguments:
            continue
        place = call.arguments.index(match[1])
        for table in work.tables():
            function = table.get(name)
            if function is not None and place < function.arity and place not in function.borrowed:
                function.borrowed[place] = "&mut "
                changed = True
    return changed
