"""Writes what drives the function once, and types that have the traits of the file."""

from __future__ import annotations

import re

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.concrete import (
    concrete_types,
    function_bound,
    given_to_all,
    own_type,
    type_for_bounds,
)
from pytest_funcmem.harness.compiled.rust.cratevalues import CRATE_VALUES
from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.items import Item
from pytest_funcmem.harness.compiled.rust.plan import Plan
from pytest_funcmem.harness.compiled.rust.projections import named_projections, projected
from pytest_funcmem.harness.compiled.rust.signature import (
    Parameter,
    Signature,
    generics_of,
    read_signature,
    split_bounds,
    split_types,
    substituted,
)
from pytest_funcmem.harness.compiled.rust.values import make_impl, opaque_type

__all__ = [
    "answering",
    "behind",
    "driver_text",
    "made_object",
    "made_trait",
    "registering_text",
    "trait_impl",
]

_ITERATOR = re.compile(r"\b(?:impl|dyn)\s+(?:\w+::)*(?:Iterator|DoubleEndedIterator|ExactSizeIterator)\b")


def made_trait(plan: Plan, trait: Item, argument: str) -> str:
    """A type that has a trait of the file, and those that it asks for: what it must do is made up.

    Args:
        plan: What there is.
        trait: The trait.
        argument: What the trait is given, a line for each choice.
    """
    name = f"Made_impl_{trait.name}"
    lines = [opaque_type(name, trait.name)]
    by_name = {item.name: item for item, _ in plan.taken_items() if item.kind == "trait"}
    pending, done = [(trait, given) for given in argument.split("\n")], {trait.name}
    while pending:
        wanted, given = pending.pop()
        lines.append(trait_impl(plan, wanted, name, given))
        bounds = wanted.node.child_by_field_name("bounds")
        for word in re.findall(r"\w+", plan.file.tree.source(bounds)) if bounds is not None else ():
            if word in by_name and word not in done and given_to_all(plan, word) is None:
                done.add(word)
                pending.append((by_name[word], ""))
    is_plain = not argument and trait.node.child_by_field_name("type_parameters") is None
    # Where a trait has types, what is behind a pointer must name them.
    is_plain = is_plain and not any(member.kind == "type" for member in trait.members)
    if is_plain and re.search(rf"\bdyn\s+(?:\w+::)*{trait.name}\b", plan.function.text):
        lines.append(behind(name, trait.name))
    return "\n".join(lines)


def made_object(trait: str) -> str:
    """A type for values of which only a trait is known that stands in, and that every type has."""
    name = f"Made_impl_{trait}"
    return f"{opaque_type(name, trait)}\n{behind(name, trait)}"


def behind(name: str, trait: str) -> str:
    """How values of a type are made where only its trait is asked for, behind a pointer."""
    lent = f"let value: &'l mut {name} = funcmem::lent({name}::make(source)); value"
    return "\n".join(
        make_impl(kind, body, opening="<'l>")
        for kind, body in (
            (f"Box<dyn {trait} + 'l>", f"funcmem::boxed({name}::make(source))"),
            (f"&'l mut (dyn {trait} + 'l)", lent),
            (f"&'l (dyn {trait} + 'l)", lent),
        )
    )


def trait_impl(plan: Plan, trait: Item, name: str, argument: str) -> str:
    """An implementation of a trait of the file for a type, in which every answer is made up."""
    tree = plan.file.tree
    generics = [generic for generic in generics_of(plan, trait.node) if generic.kind != "lifetime"]
    concrete = concrete_types(plan, generics)
    for generic, kind in zip(generics, split_types(argument), strict=False):
        if "=" not in kind:
            concrete[generic.name] = kind
    bounds_of = {generic.name: generic.bounds for generic in generics}
    with_self = {**concrete, "Self": name}
    lifetimes = [generic for generic in generics_of(plan, trait.node) if generic.kind == "lifetime"]
    listed = ", ".join(["'static"] * len(lifetimes) + [concrete[generic.name] for generic in generics])
    members = []
    for place, member in enumerate(trait.members):
        if f"item {trait.index}.{place}" in plan.left_out:
            continue
        if member.kind == "type":
            equal = re.search(rf"\b{re.escape(member.name)}\s*=\s*([^,>]+)", argument)
            bounds = member.node.child_by_field_name("bounds")
            texts = [flattened(tree.source(bounds), plan.names).lstrip(": ")] if bounds is not None else []
            kind = equal[1].strip() if equal else type_for_bounds(plan, texts, with_self)
            members.append(f"type {member.name} = {kind};")
        elif member.kind == "const" and member.node.child_by_field_name("value") is None:
            declared = member.node.child_by_field_name("type")
            text = substituted(tree.source(declared), concrete) if declared is not None else "i64"
            members.append(f"const {member.name}: {text} = {_constant(text)};")
        elif member.kind == "fn" and member.node.child_by_field_name("body") is None:
            head = flattened(tree.source(member.node), plan.names).rstrip().removesuffix(";")
            head = named_projections(plan, head, bounds_of)
            for parameter, kind in concrete.items():
                head = re.sub(rf"\b{parameter}\b(?!\s*:)", kind, head)
            for lifetime in lifetimes:
                head = re.sub(rf"{lifetime.name}\b", "'static", head)
            signature = read_signature(plan, member.node)
            members.append(f"{_named(head)} {{ {answering(f'{trait.name}.{member.name}', signature)} }}")
    unsafe = "unsafe " if tree.source(trait.node).partition("trait")[0].split()[-1:] == ["unsafe"] else ""
    given = f"<{listed}>" if listed else ""
    return f"{unsafe}impl {trait.name}{given} for {name} {{ {' '.join(members)} }}"


def _named(head: str) -> str:
    return re.sub(r"\s+", " ", head)


def _constant(kind: str) -> str:
    return {
        "bool": "true",
        "&'static str": '"made"',
        "&str": '"made"',
        "char": "'m'",
        "f64": "1.5",
        "f32": "1.5",
    }.get(kind, "7")


def answering(path: str, signature: Signature) -> str:
    """A body that logs the call and makes up its answer."""
    if signature.result == "!":
        return f'funcmem::unreached("{path}")'
    parts = (
        ["funcmem::Dump::encoded(&self)"] if signature.receiver and signature.receiver.startswith("&") else []
    )
    parts += [
        f"funcmem::Dump::encoded(&{p.name})"
        for p in signature.parameters
        if p.name.isidentifier() and p.name != "_"
    ]
    return f'funcmem::answer("{path}", vec![{", ".join(parts)}])'


def driver_text(plan: Plan) -> str | None:
    """The function that drives the original once; None where nothing can call it."""
    file = plan.file
    if file.target is None:
        return None
    node = file.member.node if file.member is not None else file.target.node
    outer = file.target.node if file.member is not None else None
    signature = projected(plan, read_signature(plan, node, outer), _types_of_owner(plan))
    concrete = concrete_types(plan, signature.generics)
    own, path = _owner(plan, concrete)
    if own:
        concrete["Self"] = own
    lines: list[str] = []
    helpers = ["__funcmem_register();"]
    call: list[str] = []
    if signature.receiver:
        lines += _receiver(signature.receiver, own, concrete)
        call.append("receiver")
    formatter = _formatter(signature.parameters)
    for place, parameter in enumerate(signature.parameters):
        if parameter is formatter:
            call.append("formatter")
            continue
        made, argument = _argument(plan, place, parameter, signature, concrete, helpers)
        lines += made
        call.append(argument)
    called = f"{path}{signature.name}{_given_types(plan, node, concrete)}({', '.join(call)})"
    if signature.is_unsafe:
        called = f"unsafe {{ {called} }}"
    lines += [f'run.environment("{name}");' for name in _environment(plan)]
    for global_name in _globals(plan):
        lines.append(f'unsafe {{ run.watch_global("{global_name}", &raw const {global_name}); }}')
    if formatter is not None:
        encoding = f"funcmem::formatted(&mut run.source, |formatter| {called})"
        lines.append(f"let encoding = {encoding};")
    else:
        if signature.is_async:
            called = f"funcmem::blocked({called})"
        lines.append(f"let value = {called};")
        if _ITERATOR.search(signature.result) and not re.match(
            r"(?:Option|Result|Vec)\b", signature.result.strip("&")
        ):
            lines.append("let encoding = funcmem::drained(value);")
        else:
            lines.append("let encoding = funcmem::Dump::encoded(&value);")
    lines.append("run.returned(encoding);")
    body = "\n    ".join([*helpers, *lines])
    return f"pub fn __funcmem_drive(run: &mut funcmem::Run) {{\n    {body}\n}}"


def registering_text(plan: Plan, driver: str) -> str:
    """How values of crates are made that the function names, or what drives it."""
    words = {*plan.words(), *re.findall(r"\w+", driver)}
    found = [
        f"funcmem::register::<{value.type}>(|source| {value.made});"
        for value in CRATE_VALUES
        if value.names & words and value.crate in plan.names.crates and "registered" not in plan.left_out
    ]
    return f"fn __funcmem_register() {{ {' '.join(found)} }}"


def _types_of_owner(plan: Plan) -> dict[str, str]:
    """What the implementation that the original stands in says that its types are."""
    item = plan.file.target
    found = {}
    for member in item.members if item is not None and item.kind == "impl" else ():
        kind = member.node.child_by_field_name("type")
        if member.kind == "type" and kind is not None:
            found[member.name] = flattened(plan.file.tree.source(kind), plan.names)
    return found


def _given_types(plan: Plan, node: Node, concrete: dict[str, str]) -> str:
    """The types that a call names: what only the result mentions cannot be found out."""
    own = [generic for generic in generics_of(plan, node) if generic.kind != "lifetime"]
    if not own:
        return ""
    given = ("_" if function_bound(generic.bounds) else concrete[generic.name] for generic in own)
    return f"::<{', '.join(given)}>"


def _owner(plan: Plan, concrete: dict[str, str]) -> tuple[str, str]:
    """The type that ``Self`` is and the path before the function's name."""
    item = plan.file.target
    if item is None or plan.file.member is None:
        return "", ""
    tree = plan.file.tree
    if item.kind == "trait":
        own = own_type(plan, item.name, "")
        given = [
            "'static" if generic.kind == "lifetime" else concrete[generic.name]
            for generic in generics_of(plan, item.node)
        ]
        listed = f"<{', '.join(given)}>" if given else ""
        return own, f"<{own} as {item.name}{listed}>::"
    kind = item.node.child_by_field_name("type")
    own = substituted(flattened(tree.source(kind), plan.names), concrete) if kind is not None else ""
    trait = item.node.child_by_field_name("trait")
    if trait is None:
        return own, f"<{own}>::"
    listed = flattened(tree.source(trait), plan.names)
    return own, f"<{own} as {substituted(listed, {**concrete, 'Self': own})}>::"


def _receiver(receiver: str, own: str, concrete: dict[str, str]) -> list[str]:
    whole = f"({own})" if own.startswith("dyn ") else own
    kinds = {"self": own, "&self": f"&'static {whole}", "&mut self": f"&'static mut {whole}"}
    kind = kinds.get(receiver) or substituted(receiver, concrete)
    lines = [f"let mut receiver: {kind} = run.make();", "run.show(&receiver);"]
    if kind.startswith("&"):
        lines.append("unsafe { run.watch_receiver(&*receiver as *const _); }")
    return lines


def _formatter(parameters: tuple[Parameter, ...]) -> Parameter | None:
    return next(
        (p for p in parameters if re.match(r"&\s*(?:'\w+\s+)?mut\s+(?:\w+::)*Formatter\b", p.type)), None
    )


def _argument(
    plan: Plan,
    place: int,
    parameter: Parameter,
    signature: Signature,
    concrete: dict[str, str],
    helpers: list[str],
) -> tuple[list[str], str]:
    """Lines that make an argument, and the expression that gives it."""
    name = f"a{place}"
    kind = parameter.type.strip()
    bare = re.sub(r"^&\s*(?:'\w+\s+)?(?:mut\s+)?|^mut\s+", "", kind)
    bounds: list[str] = []
    if bare.startswith("impl "):
        bounds = split_bounds(bare[5:])
        known = {key: value for key, value in concrete.items() if value}
        concrete = {**known, bare: type_for_bounds(plan, bounds, known)}
        kind = kind.replace(bare, concrete[bare])
    for generic in signature.generics:
        if generic.name == bare:
            bounds = generic.bounds
    bounds = bounds or _behind_pointer(kind, bare)
    function = function_bound(bounds)
    shown = parameter.name if parameter.name.isidentifier() else name
    if function is not None:
        parameters = split_types(substituted(function[0], concrete))
        result = substituted(function[1], concrete)
        # The parameters' lifetimes must stay open, but for those that the file says are the longest.
        opened = [re.sub(r"&'static ", "&", text) for text in parameters]
        if "'static" not in function[0]:
            opened = [re.sub(r"'static\b", "'_", text) for text in opened]
        listed = ", ".join(f"p{i}: {text}" for i, text in enumerate(opened))
        parts = ", ".join(f"funcmem::Dump::encoded(&p{i})" for i in range(len(parameters)))
        helpers.append(
            f'fn made_{name}({listed}) -> {result} {{ funcmem::answer("{shown}", vec![{parts}]) }}'
        )
        lines = [f'run.show_text("{shown}");']
        if kind.startswith("&"):
            is_mut = re.match(r"&\s*(?:'\w+\s+)?mut\b", kind)
            return [*lines, f"let mut {name} = made_{name};"], f"&{'mut ' if is_mut else ''}{name}"
        return lines, f"Box::new(made_{name})" if kind.startswith("Box") else f"made_{name}"
    text = _kept_for_ever(substituted(kind, concrete))
    lines = [f"let mut {name}: {text} = run.make();", f"run.show(&{name});"]
    if text.startswith("&"):
        lines.append(f'unsafe {{ run.watch("{shown}", &*{name} as *const _); }}')
    return lines, name


def _behind_pointer(kind: str, bare: str) -> list[str]:
    """The bounds of a function that is given behind a pointer, of which only they are known."""
    boxed = re.fullmatch(r"Box\s*<\s*(dyn\s+.*)>", kind, re.DOTALL)
    inner = boxed[1] if boxed else bare if kind.startswith("&") else ""
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    bounds = split_bounds(re.sub(r"^dyn\s+", "", inner))
    return bounds if function_bound(bounds) is not None else []


def _kept_for_ever(text: str) -> str:
    """A type in which references live for ever, but those that a function is given."""
    pieces, done = [], 0
    for match in re.finditer(r"\b(?:fn|Fn|FnMut|FnOnce)\s*\(", text):
        if match.start() < done:
            continue
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        pieces += [_for_ever(text[done : match.end()]), text[match.end() : end]]
        done = end
    return "".join([*pieces, _for_ever(text[done:])])


def _for_ever(text: str) -> str:
    return re.sub(r"&(?!\s*')", "&'static ", text)


def _environment(plan: Plan) -> list[str]:
    """Variables of the environment that the taken code asks for by name."""
    tree = plan.file.tree
    found = []
    for item, members in plan.taken_items():
        for node in (item.node, *(member.node for _, member in members)):
            if item.kind == "fn" or node is not item.node:
                found += re.findall(r"\bvar(?:_os)?\(\s*\"(\w+)\"\s*\)", tree.source(node))
    return list(dict.fromkeys(found))


def _globals(plan: Plan) -> list[str]:
    """Statics whose value can change."""
    tree = plan.file.tree
    found = []
    for item, _ in plan.taken_items():
        if item.kind == "static" and f"watch {item.name}" not in plan.left_out:
            text = tree.source(item.node)
            if re.match(r"(?:pub(?:\([^)]*\))?\s+)?static\s+mut\b", text) or re.search(
                r"\b(?:Mutex|RwLock|Atomic\w+|OnceLock|OnceCell|Cell|RefCell)\b", text
            ):
                found.append(item.name)
    return found
