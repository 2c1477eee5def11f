"""What a scaffold is made of while it is mended: which items it takes, and what stands in for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.rust.flatten import Names
from pytest_funcmem.harness.compiled.rust.items import Import, Item, Member, RustFile
from pytest_funcmem.harness.compiled.rust.known import STANDARD_TRAITS, crates_of_image

__all__ = [
    "Plan",
    "StandInFunction",
    "StandInType",
    "crate_of",
    "crates_in_use",
    "grow",
    "make_helpers_up",
    "new_plan",
    "shadowing_names",
    "usable_imports",
]


@dataclass
class StandInType:
    """A type that the file lacks.

    Attributes:
        name: Its name.
        alias: Text of the type that it turned out to be; None where it is one of its own.
        lifetimes: How many lifetimes it takes.
        parameters: How many types it takes.
        fields: Types of its fields by name, as far as they are used.
        shape: ``named``, ``tuple`` or ``unit``.
        variants: Payloads of its variants: a list of types, a mapping of fields, or None.
        functions: Associated functions by name: parameters, result type.
        constants: Associated constants by name: type.
        impls: Implementations that were asked for, as whole texts.
        is_copy: Whether it can be copied.
        is_clone: Whether it can be cloned.
        is_weak: Whether the alias was only guessed.
        is_pattern: Whether constants of it stand in patterns, so that its equality must be derived.
        is_fixed: Whether its associated functions are those of one choice of its parameters.
    """

    name: str
    alias: str | None = None
    lifetimes: int = 0
    parameters: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    shape: str = "named"
    variants: dict[str, list[str] | dict[str, str] | None] = field(default_factory=dict)
    functions: dict[str, StandInFunction] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    impls: dict[str, str] = field(default_factory=dict)
    is_copy: bool = True
    is_clone: bool = True
    is_weak: bool = False
    is_pattern: bool = False
    is_fixed: bool = False
    tried: set[str] = field(default_factory=set)


@dataclass
class StandInFunction:
    """A function or method that the file lacks; without a result type callers decide it.

    Attributes:
        arity: Number of parameters, the receiver not counted.
        result: Text of the result type; None where each call decides for itself.
        closures: Parameters that take a function, with its number of parameters, or a future.
        given: Types of what such a function is given, by parameter and place; callers decide the others.
        given_back: Types of what such a function gives back, by parameter; others are whatever it gives.
        borrowed: Parameters that are references, with the reference's mark.
        types: Types of parameters that no call decides.
        is_narrow: Of a method: whether only the scaffold's own types have it.
        turbofish: How many types calls name; the first is taken for the result's.
        inferred: Which of the named types calls leave to the compiler.
        is_const: Whether it is called while compiling, so that it can make up nothing.
        free: Names in the result type that each call decides for itself.
    """

    arity: int
    result: str | None = None
    closures: dict[int, int] = field(default_factory=dict)
    given: dict[tuple[int, int], str] = field(default_factory=dict)
    given_back: dict[int, str] = field(default_factory=dict)
    borrowed: dict[int, str] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)
    is_narrow: bool = False
    turbofish: int = 0
    inferred: tuple[int, ...] = ()
    is_const: bool = False
    free: list[str] = field(default_factory=list)


@dataclass
class Plan:
    """A scaffold in the making.

    Attributes:
        function: The original.
        file: Its file.
        names: What paths may begin with.
        edition: Edition of the language.
        taken: Items by index with the members that are taken (all of an item without members).
        replaced: Functions whose bodies were replaced, as (item, member) indices.
        types: Types that stand in.
        functions: Functions that stand in.
        methods: Methods that stand in, for receivers of any type.
        typed: Names of methods that stand in for each type of receivers apart.
        own_methods: Those methods, by the receiver's type and their name.
        constants: Constants that stand in, with their types.
        sizes: Values of such constants that the lengths of arrays tell.
        macros: Macros that stand in.
        traits: Traits that stand in, by name: what is in them.
        extra: Further lines, such as imports that a type from a message needs.
        derives: Derives of crates that are there and needed.
        constructors: Of types that hold what only other crates make: item, member and number of arguments.
        is_const_stripped: Whether functions may no longer run while compiling.
        left_out: Things that are not written: imports, implementations of the runtime's traits.
        history: Changes so far, so that none is made twice.
    """

    function: SourceFunction
    file: RustFile
    names: Names
    edition: str = "2021"
    taken: dict[int, set[int]] = field(default_factory=dict)
    replaced: set[tuple[int, int]] = field(default_factory=set)
    types: dict[str, StandInType] = field(default_factory=dict)
    functions: dict[str, StandInFunction] = field(default_factory=dict)
    methods: dict[str, StandInFunction] = field(default_factory=dict)
    typed: set[str] = field(default_factory=set)
    own_methods: dict[str, dict[str, StandInFunction]] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    traits: dict[str, dict[str, str]] = field(default_factory=dict)
    extra: dict[str, None] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    history: set[tuple[str, ...]] = field(default_factory=set)
    concrete: dict[str, str] = field(default_factory=dict)
    derives: frozenset[str] = frozenset()
    constructors: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    is_const_stripped: bool = False
    counter: int = 0

    def taken_items(self) -> list[tuple[Item, list[tuple[int, Member]]]]:
        """Taken items in order, with their taken members."""
        found = []
        for index in sorted(self.taken):
            item = self.file.items[index]
            members = [(place, item.members[place]) for place in sorted(self.taken[index])]
            found.append((item, members))
        return found

    def implemented(self) -> frozenset[str]:
        """Types that the file implements something for: none of them may be another's name."""
        return frozenset(item.name for item in self.file.items if item.kind == "impl")

    def words(self) -> set[str]:
        """All words of what is taken and not replaced."""
        words: set[str] = set()
        for item, members in self.taken_items():
            if (item.index, -1) not in self.replaced:
                words |= item.words
            for place, member in members:
                if (item.index, place) not in self.replaced:
                    words |= member.words
        return words

    def fresh(self, hint: str) -> str:
        """Name of a new type of which nothing is known."""
        base = "Made_" + (re.sub(r"\W+", "_", hint).strip("_") or "value")[:40]
        name = base
        while name in self.types:
            self.counter += 1
            name = f"{base}_{self.counter}"
        self.types[name] = StandInType(name)
        return name


def crates_in_use(file: RustFile) -> frozenset[str]:
    """Crates of the image that a file takes something from."""
    roots = {imported.path[0] for imported in file.imports}
    roots.update(re.findall(r"\b([a-z]\w*)::", file.tree.text))
    return crates_of_image() & roots


def new_plan(function: SourceFunction, file: RustFile, without: frozenset[str] = frozenset()) -> Plan:
    """Slice the file to the function and what it reaches by name.

    Args:
        function: The original.
        file: Its file.
        without: Crates to do without though the image has them.
    """
    own_crate = crate_of(function.path)
    crates = frozenset(name for name in crates_of_image() if name != own_crate and name not in without)
    own = frozenset(item.name for item in file.items if item.name and item.kind != "impl")
    own |= {name for item in file.items if item.kind == "call" for name in item.names}
    modules = set()
    for imported in file.imports:
        first = imported.path[0]
        is_there = (first in ("std", "core", "alloc") or first in crates) and first not in file.modules
        if is_there and imported.name[:1].islower() and imported.name not in own:
            modules.add(imported.name)
    names = Names(crates=crates, modules=frozenset(modules), own=own, inner=frozenset(file.modules))
    plan = Plan(function, file, names)
    grow(plan)
    plan.derives = _derives(plan)
    _find_constructors(plan)
    _make_up_system_calls(plan)
    if file.target is not None and file.target.trait == "Drop" and "Drop" not in own:
        # Nothing may call a destructor; under a trait of the same name it is a method like any other.
        plan.traits["Drop"] = {"head": "pub trait Drop { fn drop(&mut self); }"}
    return plan


def _find_constructors(plan: Plan) -> None:
    """Take functions that make values of types whose parts are of other crates, such as compiled patterns."""
    file = plan.file
    foreign = {imported.name for imported in file.imports if imported.path[0] in plan.names.crates}
    held = {
        item.name
        for item, _ in plan.taken_items()
        if item.kind == "struct"
        and item.words & foreign
        and item.node.child_by_field_name("type_parameters") is None
    }
    for item in file.items:
        if item.kind != "impl" or item.name not in held or item.trait not in ("", "Default"):
            continue
        for place, member in enumerate(item.members):
            result = member.node.child_by_field_name("return_type")
            parameters = member.node.child_by_field_name("parameters")
            is_named = member.name in ("new", "default") and member is not file.member
            if not is_named or result is None or parameters is None or item.name in plan.constructors:
                continue
            given = [child for child in parameters.children if child.is_named and "comment" not in child.type]
            is_plain = member.node.child_by_field_name("type_parameters") is None and not any(
                child.type != "parameter" or "impl " in file.tree.source(child) for child in given
            )
            if is_plain and file.tree.source(result) in ("Self", item.name):
                plan.constructors[item.name] = (item.index, place, len(given))
                plan.taken.setdefault(item.index, set()).add(place)
    if plan.constructors:
        grow(plan)


def _make_up_system_calls(plan: Plan) -> None:
    """Replace helpers that ask the machine for something: it is not there, and would say the same always."""
    asks = re.compile(r"\blibc::[a-z]\w*\s*\(")
    for item, members in plan.taken_items():
        parts = [
            (place, member.node, member.kind) for place, member in members if member is not plan.file.member
        ]
        if item is not plan.file.target:
            parts.append((-1, item.node, item.kind))
        for place, node, kind in parts:
            if kind == "fn" and item.kind != "trait" and asks.search(plan.file.tree.source(node)):
                plan.replaced.add((item.index, place))
    if plan.replaced:
        plan.taken.clear()
        grow(plan)


def _derives(plan: Plan) -> frozenset[str]:
    """Derives that the taken code may need: of crates that are there, serde's only where it is used."""
    words = plan.words()
    serde_words = {"serde_json", "Serializer", "Deserializer", "Serialize", "Deserialize", "DeserializeOwned"}
    uses_serde = bool(serde_words & words)
    found = set()
    for imported in plan.file.imports:
        crate = imported.path[0]
        is_needed = uses_serde if crate.startswith("serde") else crate == "thiserror"
        is_derive = imported.path[-1] in ("Serialize", "Deserialize", "Error")
        if crate in plan.names.crates and is_needed and is_derive:
            found.add(imported.name)
    return frozenset(found)


def crate_of(path: str) -> str:
    """Name of the crate that a file seems to belong to: the directory above ``src``, without its version."""
    parts = PurePosixPath(path).parts
    for place in range(len(parts) - 2, -1, -1):
        if parts[place + 1] in ("src", "benches", "tests", "examples"):
            name = re.sub(r"-\d+\.[\w.+-]*\Z", "", parts[place])
            name = {"md-5": "md5"}.get(name, name)
            return name.replace("-", "_").lower()
    return ""


def grow(plan: Plan) -> None:
    """Take all that what is taken reaches by name."""
    file = plan.file
    if file.target is None:
        return
    target = file.target
    _take(plan, target)
    if file.member is not None and not (target.kind == "trait" or target.trait):
        plan.taken[target.index] = {target.members.index(file.member)}
    macros = {item.name for item in file.items if item.kind == "macro"}
    by_name: dict[str, list[Item]] = {}
    for item in file.items:
        for name in (item.name, *item.names):
            if name and item.kind != "impl":
                by_name.setdefault(name, []).append(item)
    while True:
        words = plan.words()
        before = sum(len(members) + 1 for members in plan.taken.values())
        for word in words:
            for item in _nearest(target, by_name.get(word, [])):
                if item.index not in plan.taken and f"item {item.index}" not in plan.left_out:
                    _take(plan, item)
        names = {
            item.name for item, _ in plan.taken_items() if item.kind in ("struct", "enum", "union", "type")
        }
        names |= {name for item, _ in plan.taken_items() if item.kind == "call" for name in item.names}
        # The type may be another file's, or what a macro makes that is not there.
        names |= {target.name} if target.kind == "impl" else set()
        for item in file.items:
            # What a macro of the file makes of the types may be implementations.
            is_known = item.index in plan.taken or f"item {item.index}" in plan.left_out
            if item.kind == "call" and not is_known and item.trait in macros and item.words & names:
                _take(plan, item)
            if item.kind == "impl" and f"item {item.index}" not in plan.left_out:
                _take_impl(plan, item, names, words)
        if sum(len(members) + 1 for members in plan.taken.values()) == before:
            return


def _nearest(target: Item, items: list[Item]) -> list[Item]:
    """Of items of one name in several modules, which become one, those that the original would see."""
    kinds: dict[bool, list[Item]] = {}
    for item in items:
        kinds.setdefault(item.kind in ("fn", "const", "static"), []).append(item)
    found = []
    for alike in kinds.values():
        modules = {item.module for item in alike}
        if len(modules) > 1 and target not in alike:
            depth = len(target.module)
            near = next(
                (m for m in (target.module[:place] for place in range(depth, -1, -1)) if m in modules),
                min(modules),
            )
            alike = [item for item in alike if item.module == near]
        found += [target] if target in alike else alike
    return found


def _take(plan: Plan, item: Item) -> None:
    members = {
        place
        for place, member in enumerate(item.members)
        if f"item {item.index}.{place}" not in plan.left_out and (item.kind != "macro" or member.name)
    }
    plan.taken[item.index] = members


def _is_other_target(plan: Plan, item: Item, member: Member) -> bool:
    """Whether a member is the original under other conditions of compiling."""
    target, own = plan.file.target, plan.file.member
    if target is None or own is None or target.trait or item.name != target.name:
        return False
    return member is not own and member.name == own.name


def _take_impl(plan: Plan, item: Item, names: Iterable[str], words: set[str]) -> None:
    if not item.trait:
        if item.name not in names:
            return
        wanted = {
            place
            for place, member in enumerate(item.members)
            if member.name in words
            and f"item {item.index}.{place}" not in plan.left_out
            and not _is_other_target(plan, item, member)
        }
        if wanted - plan.taken.get(item.index, set()):
            plan.taken[item.index] = plan.taken.get(item.index, set()) | wanted
        return
    if item.index in plan.taken or (item.name not in names and item.name not in words):
        return
    own_traits = {other.name for other, _ in plan.taken_items() if other.kind == "trait"}
    is_wanted = (
        item.trait in own_traits
        or (item.trait in STANDARD_TRAITS and item.name in names)
        or (item.name in names and any(member.name in words for member in item.members))
    )
    if is_wanted:
        _take(plan, item)


def make_helpers_up(plan: Plan) -> bool:
    """Replace the bodies of all functions but the original; whether there are any.

    What runs while compiling stays, and so does what gives values of types that only its body tells.
    """
    file = plan.file
    kept = set(plan.replaced)
    for index, item in enumerate(file.items):
        places = [(-1, item.node, item.kind)]
        places += [(place, member.node, member.kind) for place, member in enumerate(item.members)]
        for place, node, kind in places:
            is_target = item is file.target and (place < 0 or item.members[place] is file.member)
            body = node.child_by_field_name("body")
            if kind != "fn" or body is None or is_target or item.kind == "trait":
                continue
            head = file.tree.text[file.tree.start(node) : file.tree.start(body)]
            if not re.search(r"\bconst\s+(?:unsafe\s+)?fn\b|->[^{]*\b(?:impl|dyn)\b", head):
                plan.replaced.add((index, place))
    plan.taken.clear()
    grow(plan)
    reached = {
        (item.index, place)
        for item, members in plan.taken_items()
        for place in (-1, *(m[0] for m in members))
    }
    return bool((plan.replaced - kept) & reached)


_PRELUDE = frozenset({"Result"})


def shadowing_names(plan: Plan) -> list[str]:
    """Imported names that are not there, and that would be taken for those of the standard prelude."""
    words = plan.words()
    found = []
    for imported in plan.file.imports:
        is_there = imported.path[0] in ("std", "core", "alloc") or imported.path[0] in plan.names.crates
        if imported.name in _PRELUDE & words - plan.names.own and not is_there:
            found.append(imported.name)
    return list(dict.fromkeys(found))


def usable_imports(plan: Plan) -> list[tuple[Import, str]]:
    """Imports that can be written, each once, with their text."""
    found: dict[str, tuple[Import, str]] = {}
    taken_names = {item.name for item, _ in plan.taken_items() if item.kind != "impl"}
    taken_names |= {name for item, _ in plan.taken_items() for name in item.names}
    taken_names |= set(plan.types) | set(plan.functions) | set(plan.constants) | set(plan.traits)
    words = plan.words()
    for imported in plan.file.imports:
        path = list(imported.path)
        if imported.name and (imported.name in taken_names or imported.name in found):
            continue
        # At their roots the standard library's crates have modules only.
        if path[0] in ("core", "alloc", "std"):
            path[0] = "std" if len(path) < 2 or not path[1][:1].isupper() else "other"
        is_foreign = path[0] in plan.names.crates and path[0] not in plan.file.modules
        if path[0] == "std" and "prelude" not in path:
            pass
        elif is_foreign and path[-1] != "prelude":
            if len(path) == 1 and imported.name == path[0]:
                continue  # the crate's own name is there anyway
            if imported.name and imported.name not in words and imported.name[:1].islower():
                continue
        else:
            # What an own type holds: the variants of an enum.
            while path and path[0] not in taken_names:
                path.pop(0)
            if len(path) < 2 or path[0] not in {
                i.name for i, _ in plan.taken_items() if i.kind == "enum"
            } | set(plan.types):
                continue
        text = "::".join(path)
        if imported.name and imported.name != path[-1]:
            text += f" as {imported.name}"
        key = imported.name if imported.name not in ("", "_") else text
        if f"use {text}" in plan.left_out or key in found:
            continue
        found[key] = (imported, f"use {text};")
    return list(found.values())
