"""Makes what stands in for names that a file lacks, from all of their uses at once."""

from __future__ import annotations

import re

from tree_sitter import Node

from pytest_funcmem.harness.compiled.rust.flatten import flattened
from pytest_funcmem.harness.compiled.rust.items import Item
from pytest_funcmem.harness.compiled.rust.known import STANDARD_PATHS, TRAIT_PATHS
from pytest_funcmem.harness.compiled.rust.plan import Plan, StandInFunction, StandInType
from pytest_funcmem.harness.compiled.rust.uses import Call, Uses, find_uses
from pytest_funcmem.languages.trees import SyntaxTree

__all__ = ["add_function", "add_macro", "add_method", "add_trait", "add_type", "add_variant", "own_function"]

_MAKERS = re.compile(r"(?:new|default|from|with|open|create|build|empty|init|parse)(?:_|\Z)")
_LOGS = frozenset({"trace", "debug", "info", "warn", "error", "log", "event", "span"})
_BOOLEAN = re.compile(r"(?:is|has|contains|starts|ends|can|should|eq|ne|lt|gt|le|ge|any|all)(?:_|\Z)")
_OF_MEMORY = frozenset({"Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"})
_SHIMS = frozenset(
    {"lib", "std", "core", "alloc", "prelude", "private", "__private", "no_std", "crate", "super"}
)
"""Modules in which a crate gathers what it takes of the standard library."""
_USUAL = {"len": "usize", "count": "usize", "as_str": "&'static str", "to_owned": "String"}


def add_type(plan: Plan, name: str, uses: Uses) -> bool:
    """Let something stand in for a type."""
    if name in plan.types or name in plan.traits or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return False
    if name in plan.file.parameters:
        return False
    is_known = name in STANDARD_PATHS and ("not the standard's", name) not in plan.history
    if is_known and name not in plan.names.own and not _is_foreign(plan, name):
        module = STANDARD_PATHS[name]
        if name == "Ordering" and _OF_MEMORY & uses.paths.get(name, {}).keys():
            module = "std::sync::atomic"
        line = f"use {module}::{name};"
        if line in plan.extra:
            return False
        plan.extra[line] = None
        return True
    lifetimes, types = uses.generics.get(name, (0, 0))
    kind = StandInType(name, lifetimes=lifetimes, parameters=types)
    plan.types[name] = kind
    if name == "IResult" and types == 2:
        # Parsers give what is left together with what they found.
        kind.alias = f"std::result::Result<(T0, T1), {plan.fresh('parse_error')}>"
        return True
    if name.endswith("Result") and 0 < types < 3 and not uses.paths.get(name):
        error = "T1" if types > 1 else "Error"
        if types == 1 and "Error" not in plan.names.own and "Error" not in plan.types:
            add_type(plan, "Error", uses)
        kind.alias = f"std::result::Result<T0, {error}>"
        return True
    for inner, calls in sorted(uses.paths.get(name, {}).items()):
        path = f"{name}::{inner}"
        called = next((call for call in calls if call is not None), None)
        is_held = path in uses.fields_of or path in uses.tuples_of
        if inner[:1].isupper() and (is_held or not (inner.isupper() and len(inner) > 1)):
            if path in uses.fields_of:
                kind.variants[inner] = {
                    f: plan.fresh(f"{name}_{f}") for f in dict.fromkeys(uses.fields_of[path])
                }
            elif path in uses.tuples_of or called is not None:
                count = max(uses.tuples_of.get(path, 0), called.arity if called is not None else 0)
                is_whole = 1 < count == types
                # As many parts as parameters are likely those.
                kind.variants[inner] = [
                    f"T{place}" if is_whole else plan.fresh(f"{name}_{inner}") for place in range(count)
                ]
            else:
                kind.variants[inner] = None
        elif inner.isupper():
            kind.constants[inner] = "Self"
        elif called is not None:
            kind.functions[inner] = own_function(inner, called)
    if kind.variants:
        # Beside variants that hold something, names in capitals are variants too.
        kind.variants.update(dict.fromkeys(kind.constants))
        kind.constants = {}
    target = plan.file.target
    named = [(uses, name)]
    if target is not None and target.name == name:
        named.append((find_uses(plan.function.code), "Self"))
    if not kind.variants:
        fields = [field for found, own in named for field in found.fields_of.get(own, ())]
        calls_of = [call for found, own in named for call in found.calls.get(own, ())]
        counts = [found.tuples_of[own] for found, own in named if own in found.tuples_of]
        if fields:
            kind.shape = "literal"
            kind.fields = {f: plan.fresh(f"{name}_{f}") for f in dict.fromkeys(fields)}
        elif counts or calls_of:
            kind.shape = "tuple"
            count = max([*counts, *(call.arity for call in calls_of)])
            kind.fields = {str(place): plan.fresh(f"{name}_{place}") for place in range(count)}
    return True


def _trait_of(plan: Plan, item: Item) -> str:
    """The trait that an implementation is of, as it is called in one module."""
    trait = item.node.child_by_field_name("trait")
    path = flattened(plan.file.tree.source(trait), plan.names) if trait is not None else ""
    return path.partition("<")[0].strip().rpartition("::")[2]


def _renamed_parameters(plan: Plan, item: Item) -> dict[str, str]:
    """How a trait that stands in calls what an implementation of it gives it: its lifetimes and types."""
    trait = item.node.child_by_field_name("trait")
    listed = trait.child_by_field_name("type_arguments") if trait is not None else None
    own = item.node.child_by_field_name("type_parameters")
    declared = re.findall(r"'?\w+", plan.file.tree.source(own)) if own is not None else []
    found: dict[str, str] = {}
    counts = [0, 0]
    for part in listed.children if listed is not None else ():
        if not part.is_named or part.type == "type_binding":
            continue
        text = plan.file.tree.source(part)
        is_type = part.type != "lifetime"
        is_whole = is_type and set(re.findall(r"'?\w+", text)) & set(declared)
        if (text in declared and text != "'static") or is_whole:
            text = text if text in declared else re.escape(flattened(text, plan.names))
            found.setdefault(text, f"{'T' if is_type else chr(39) + 'l'}{counts[is_type]}")
        counts[is_type] += 1
    return found


def _is_foreign(plan: Plan, name: str) -> bool:
    """Whether a file takes a name from another crate, so that it is not the standard library's."""
    roots = {"std", "core", "alloc", "crate", "super", "self", *plan.names.modules}
    before = re.findall(rf"(?<![:\w])([a-z]\w*)::{name}\b", plan.file.tree.text)
    if any(root not in roots for root in before):
        return True
    module = (STANDARD_PATHS.get(name) or TRAIT_PATHS.get(name) or "").rpartition("::")[2]
    for imported in plan.file.imports:
        path = imported.path
        if imported.name != name:
            continue
        if path[0] not in roots and path[0] not in plan.file.modules:
            return True
        # What a crate gives under another path than the standard library is its own.
        known = (*_SHIMS, module, *(("atomic",) if name == "Ordering" else ()))
        if path[0] in ("crate", "super", "self") and path[-2] not in known:
            return True
    return False


def add_variant(plan: Plan, name: str, uses: Uses) -> bool:
    """Let a name be a variant of a type that is not there and whose variants the file imports all."""
    for imported in (*plan.file.imports, *plan.file.inner_imports):
        if imported.path[-1] != "*" or len(imported.path) < 2 or not imported.path[-2][:1].isupper():
            continue
        owner = imported.path[-2]
        if owner in plan.names.own:
            continue
        kind = plan.types.get(owner)
        if kind is None:
            add_type(plan, owner, uses)
            kind = plan.types.get(owner)
        if kind is None or kind.fields or name in kind.variants:
            return False
        count = max([uses.tuples_of.get(name, 0), *(call.arity for call in uses.calls.get(name, ()))])
        kind.variants[name] = [plan.fresh(f"{owner}_{name}") for _ in range(count)] if count else None
        return True
    return False


def own_function(name: str, call: Call) -> StandInFunction:
    """An associated function: one that is named like a constructor gives its own type."""
    return StandInFunction(
        call.arity,
        "Self" if _MAKERS.match(name) else "bool" if _BOOLEAN.match(name) else None,
        dict(call.closures),
        turbofish=call.types,
        inferred=call.inferred,
    )


def add_function(plan: Plan, name: str, uses: Uses) -> bool:
    """Let something stand in for a function or a constant."""
    if name in plan.functions or name in plan.constants or name in plan.types:
        return False
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return False
    calls = uses.calls.get(name)
    if name[:1].isupper() and add_variant(plan, name, uses):
        return True
    is_type = name in uses.types or name in uses.tuples_of or name in uses.fields_of or name in uses.paths
    if name[:1].isupper() and not name.isupper() and is_type:
        return add_type(plan, name, uses)
    if not calls and name.rpartition("__")[2][:1].isupper():
        plan.constants[name] = plan.fresh(name)
        return True
    if not calls:
        plan.functions[name] = StandInFunction(1)
        return True
    result = "()" if all(call.is_statement for call in calls) else "bool" if _BOOLEAN.match(name) else None
    types = max(call.types for call in calls)
    inferred = next((call.inferred for call in calls if call.types == types), ())
    plan.functions[name] = StandInFunction(
        calls[0].arity,
        None if types else result,
        dict(calls[0].closures),
        turbofish=types,
        inferred=inferred,
    )
    return True


def add_method(plan: Plan, name: str, uses: Uses, line: int, text: str) -> bool:
    """Let something stand in for a method, of receivers of any type.

    Args:
        plan: Changed.
        name: Of the method.
        uses: In the whole scaffold.
        line: Where it is missing.
        text: What stands on that line: calls within macros are not among the uses.
    """
    calls = uses.methods.get(name) or list(find_uses(f"fn f() {{ {_call_in(text, name)}; }}").methods[name])
    if name in plan.methods or not calls:
        return False
    types = max(call.types for call in calls)
    calls = [call for call in calls if call.line == line] or calls
    result = _USUAL.get(name)
    if result is None and _BOOLEAN.match(name):
        result = "bool"
    if all(call.is_statement for call in calls):
        result = "()"
    inferred = next((call.inferred for call in calls if call.types == types), ())
    plan.methods[name] = StandInFunction(
        calls[0].arity,
        None if types else result,
        dict(calls[0].closures),
        turbofish=types,
        inferred=inferred,
    )
    return True


def _call_in(text: str, name: str) -> str:
    """The call of a method in a line of text, with something else as its receiver."""
    match = re.search(rf"\.\s*{re.escape(name)}\s*(?:::\s*<[^()]*>\s*)?\(", text)
    if match is None:
        return ""
    depth = 0
    for place in range(match.end() - 1, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return f"let x = receiver{text[match.start() : place + 1]}"
    return ""


def add_macro(plan: Plan, name: str, uses: Uses) -> bool:
    """Let something stand in for a macro."""
    if name in plan.macros or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return False
    if name in uses.type_macros:
        # A type that is its own only value can stand where a type does, and where a value does.
        plan.types[f"Made_{name}"] = StandInType(f"Made_{name}", shape="unit")
        body = f"Made_{name}"
    elif name in _LOGS:
        body = "{}"
    elif name in ("bail", "throw"):
        body = f'return Err(funcmem::answer("{name}!", vec![funcmem::Dump::encoded(stringify!($($t)*))]))'
    elif all(uses.macros.get(name, [False])):
        body = f'{{ funcmem::answer::<()>("{name}!", vec![funcmem::Dump::encoded(stringify!($($t)*))]) }}'
    else:
        body = f'funcmem::answer("{name}!", vec![funcmem::Dump::encoded(stringify!($($t)*))])'
    plan.macros[name] = f"macro_rules! {name} {{ ($($t:tt)*) => {{ {body} }} }}"
    if name in uses.type_macros:
        plan.macros[name] = f"macro_rules! {name} {{ ($($t:tt)*) => {{ {body} }}; }}"
    return True


def _head_without_patterns(tree: SyntaxTree, node: Node) -> str:
    """What stands before a member's body, where parameters that are taken apart have plain names."""
    body = node.child_by_field_name("body")
    end = tree.start(body) if body is not None else tree.end(node)
    listed = node.child_by_field_name("parameters")
    pieces, done = [], tree.start(node)
    for place, parameter in enumerate(listed.children if listed is not None else ()):
        pattern = parameter.child_by_field_name("pattern")
        if parameter.type == "parameter" and pattern is not None and pattern.type.endswith("_pattern"):
            if pattern.type == "mut_pattern":
                continue
            pieces += [tree.text[done : tree.start(pattern)], f"part{place}"]
            done = tree.end(pattern)
    return "".join([*pieces, tree.text[done:end]])


def add_trait(plan: Plan, name: str, uses: Uses) -> bool:
    """Let something stand in for a trait: it asks for what the file's implementations have."""
    if name in plan.traits or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return False
    if name in TRAIT_PATHS and not _is_foreign(plan, name):
        line = f"use {TRAIT_PATHS[name]}::{name};"
        if line in plan.extra:
            return False
        plan.extra[line] = None
        return True
    lifetimes, types = uses.generics.get(name, (0, 0))
    parameters = [f"'l{i}" for i in range(lifetimes)] + [f"T{i}" for i in range(types)]
    generic = f"<{', '.join(parameters)}>" if parameters else ""
    tree = plan.file.tree
    members: dict[str, str] = {}
    implementing = [
        item
        for item in [*(item for item, _ in plan.taken_items() if item.kind == "impl"), *plan.file.inner_impls]
        if _trait_of(plan, item) == name
    ]
    for item in implementing:
        renamed = _renamed_parameters(plan, item)
        # What an implementation says that a type of the trait is, is that type's name in the trait.
        for member in item.members:
            kind = member.node.child_by_field_name("type")
            listed = item.node.child_by_field_name("type_parameters")
            declared = set(re.findall(r"\w+", tree.source(listed))) if listed is not None else set()
            is_parameter = kind is not None and tree.source(kind) in declared
            if member.kind == "type" and kind is not None and (is_parameter or "::" in tree.source(kind)):
                renamed.setdefault(
                    re.escape(flattened(tree.source(kind), plan.names)), f"Self::{member.name}"
                )
        for member in item.members:
            text = flattened(_head_without_patterns(tree, member.node), plan.names)
            for own, new in renamed.items():
                text = re.sub(rf"(?<!\w){own}(?!\w)", new, text)
            if member.kind == "fn":
                head = re.sub(r"([(,]\s*)mut\s+", r"\1", text.strip())
                # What some do without is made up for them.
                is_asked = all(any(m.name == member.name for m in other.members) for other in implementing)
                ending = ";" if is_asked else f' {{ funcmem::answer("{name}.{member.name}", vec![]) }}'
                members.setdefault(member.name, head.rstrip(",") + ending)
            elif member.kind == "type":
                members.setdefault(member.name, f"type {member.name};")
            elif member.kind == "const":
                members.setdefault(member.name, text.partition("=")[0].strip().rstrip(";") + ";")
    plan.types.pop(name, None)  # It was taken for a type where a path began with it.
    unsafe = "unsafe " if re.search(rf"\bunsafe\s+impl\b[^{{]*\b{name}\b[^{{]*\bfor\b", tree.text) else ""
    plan.traits[name] = {"head": f"pub {unsafe}trait {name}{generic} {{ {' '.join(members.values())} }}"}
    if not members:
        extended = ", ".join([*parameters, "Made: ?Sized"])
        plan.traits[name]["blanket"] = f"{unsafe}impl<{extended}> {name}{generic} for Made {{}}"
    return True
