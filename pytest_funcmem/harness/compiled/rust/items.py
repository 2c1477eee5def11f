"""What stands in a Rust file: its items, flattened out of their modules, with the words each one mentions.

Parses with tree-sitter only. Conditional compilation is decided here as the compiler is told to decide it:
every feature is on but those for nightly compilers, the machine is a 64-bit Linux, and nothing is a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.languages.rust import RustFrontend
from pytest_funcmem.languages.trees import SyntaxTree, inner_nodes

__all__ = ["Import", "Item", "Member", "RustFile", "features_of", "words_of"]

_FEATURES_OFF = re.compile(r"nightly|unstable|bench|simd|no_std|loom|miri|docs?rs?$|doc_cfg")
_KINDS = {
    "function_item": "fn",
    "struct_item": "struct",
    "enum_item": "enum",
    "union_item": "union",
    "type_item": "type",
    "const_item": "const",
    "static_item": "static",
    "trait_item": "trait",
    "macro_definition": "macro",
}


@dataclass(eq=False)
class Member:
    """A function, constant or type inside an impl block or a trait.

    Attributes:
        kind: ``fn``, ``const``, ``type`` or ``macro``.
        name: Its name.
        node: Its node.
        attributes: Attribute nodes before it.
        words: All words in it.
    """

    kind: str
    name: str
    node: Node
    attributes: tuple[Node, ...]
    words: frozenset[str]


@dataclass(eq=False)
class Item:
    """An item of the file.

    Attributes:
        kind: ``fn``, ``struct``, ``enum``, ``union``, ``type``, ``const``, ``static``, ``trait``, ``impl``,
            ``macro`` or ``call`` (a macro call that makes items).
        name: Its name; of an impl block the last name of its type.
        names: For ``call``: names that it seems to define.
        trait: Of an impl block the last name of its trait, or ""; of a macro call the macro's.
        node: Its node.
        attributes: Attribute nodes before it.
        words: All words in it, those of members left out.
        members: Of an impl block or a trait.
        module: The modules of the file that it stands in.
    """

    kind: str
    name: str
    node: Node
    attributes: tuple[Node, ...]
    words: frozenset[str]
    names: tuple[str, ...] = ()
    trait: str = ""
    members: tuple[Member, ...] = ()
    module: tuple[str, ...] = ()
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that a ``use`` brings in.

    Attributes:
        path: Segments of the path, ``*`` last for all names.
        name: Local name; "" for all names, ``_`` for a trait without a name.
    """

    path: tuple[str, ...]
    name: str


@dataclass
class RustFile:
    """A parsed file.

    Attributes:
        tree: Its tree.
        items: Items in order, those of modules among them.
        imports: What is imported anywhere outside of functions.
        inner_imports: What is imported within functions.
        inner_impls: Implementations within functions.
        modules: Names of the modules that the file defines.
        parameters: Names of type parameters, where they are nothing else.
        target: The item of the function under audit.
        member: The member of that item, where it is in an impl block or a trait.
    """

    tree: SyntaxTree
    items: list[Item] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    inner_imports: list[Import] = field(default_factory=list)
    inner_impls: list[Item] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    parameters: frozenset[str] = frozenset()
    target: Item | None = None
    member: Member | None = None

    @staticmethod
    def read(function: SourceFunction) -> RustFile:
        """Parse the file of a function and find the function in it."""
        file = RustFile(_opened(SyntaxTree("rust", function.text)))
        start = file.tree.byte(function.signature_start)
        stack: list[tuple[Node, tuple[str, ...]]] = [(file.tree.root, ())]
        while stack:
            node, module = stack.pop()
            count = len(file.items)
            pending: list[Node] = []
            inner: list[tuple[Node, tuple[str, ...]]] = []
            for child in node.children:
                if child.type == "attribute_item":
                    pending.append(child)
                    continue
                if "comment" in child.type or child.type == "inner_attribute_item":
                    continue
                attributes, pending = tuple(pending), []
                holds = child.start_byte <= start < child.end_byte
                if not holds and not is_enabled(file.tree, attributes):
                    continue
                if child.type == "mod_item":
                    name = child.child_by_field_name("name")
                    body = child.child_by_field_name("body")
                    if name is not None:
                        file.modules.add(file.tree.source(name))
                    if body is not None:
                        inner.append((body, (*module, file.tree.source(name) if name is not None else "")))
                elif child.type == "use_declaration":
                    argument = child.child_by_field_name("argument")
                    if argument is not None:
                        file.imports.extend(_imports(file.tree, argument, ()))
                elif child.type == "extern_crate_declaration":
                    names = [file.tree.source(part) for part in child.children if part.type == "identifier"]
                    if len(names) == 2:
                        file.imports.append(Import(path=(names[0],), name=names[1]))
                elif child.type == "expression_statement" and child.children:
                    file._add(child.children[0], attributes, start)
                elif child.type == "ERROR":
                    inner.append((child, module))
                else:
                    file._add(child, attributes, start)
            for item in file.items[count:]:
                item.module = module
            stack.extend(reversed(inner))
        for index, item in enumerate(file.items):
            item.index = index
        named = {item.name for item in file.items if item.kind != "impl"}
        file.parameters = _parameters(file.tree) - named
        for node in inner_nodes(file.tree.root):
            if node.parent is None or node.parent.type != "block":
                continue
            argument = node.child_by_field_name("argument")
            if node.type == "use_declaration" and argument is not None:
                file.inner_imports.extend(_imports(file.tree, argument, ()))
            elif node.type == "impl_item":
                file.inner_impls.append(file._impl(node, (), start))
        return file

    def _add(self, node: Node, attributes: tuple[Node, ...], start: int) -> None:
        tree = self.tree
        if node.type == "foreign_mod_item":
            return
        if node.type == "macro_invocation":
            text = tree.source(node)
            names = re.findall(
                r"\b(?:ref|struct|enum|union|fn|const|static|type)\s+(?:mut\s+)?(?!ref\b)([A-Za-z_]\w*)", text
            )
            macro = tree.source(node.child_by_field_name("macro") or node)
            self.items.append(
                Item(
                    "call",
                    "",
                    node,
                    attributes,
                    words_of(text),
                    names=tuple(dict.fromkeys(names)),
                    trait=macro,
                )
            )
            return
        if node.type == "impl_item":
            item = self._impl(node, attributes, start)
        elif node.type in _KINDS:
            name = node.child_by_field_name("name")
            if name is None:
                return
            members = _members(tree, node, start) if node.type == "trait_item" else ()
            words = words_of(tree.source(node))
            item = Item(
                _KINDS[node.type],
                tree.source(name).removeprefix("r#"),
                node,
                attributes,
                words,
                members=members,
            )
        else:
            return
        self.items.append(item)
        if node.start_byte <= start < node.end_byte:
            if item.kind == "fn" and node.start_byte == start:
                self.target = item
            for member in item.members:
                if member.node.start_byte == start:
                    self.target, self.member = item, member

    def _impl(self, node: Node, attributes: tuple[Node, ...], start: int) -> Item:
        tree = self.tree
        members = _members(tree, node, start)
        body = node.child_by_field_name("body")
        head = tree.text[tree.start(node) : tree.start(body) if body is not None else tree.end(node)]
        return Item(
            "impl",
            _last_name(tree, node.child_by_field_name("type")),
            node,
            attributes,
            words_of(head),
            trait=_last_name(tree, node.child_by_field_name("trait")),
            members=members,
        )


_CLOSED_MACROS = frozenset({"thread_local", "lazy_static", "bitflags", "macro_rules"})
_ITEMS = frozenset([*_KINDS, "impl_item", "use_declaration", "mod_item", "attribute_item", "line_comment"])
_ITEMS |= {"block_comment", "extern_crate_declaration", "inner_attribute_item"}


def _opened(tree: SyntaxTree) -> SyntaxTree:
    """The tree of a file in which macros of others that are given plain items are those items.

    Blanks stand where such a macro's name and brackets were, so that all places stay.
    """
    own = set(re.findall(r"macro_rules!\s*(\w+)", tree.text))
    text = tree.text
    for node in inner_nodes(tree.root):
        if node.type != "macro_invocation" or node.parent is None:
            continue
        outer = node.parent if node.parent.type == "expression_statement" else node
        name, given = node.child_by_field_name("macro"), node.children[-1]
        if outer.parent is None or outer.parent.type not in ("source_file", "declaration_list"):
            continue
        if name is None or given.type != "token_tree" or not tree.source(given).startswith("{"):
            continue
        short = tree.source(name).rpartition("::")[2]
        start, end = tree.start(given) + 1, tree.end(given) - 1
        if short in own or short in _CLOSED_MACROS or text[end : end + 1] != "}":
            continue
        inner = SyntaxTree("rust", text[start:end])
        if inner.root.has_error or not inner.root.children:
            continue
        if all(child.type in _ITEMS for child in inner.root.children):
            blank = re.sub(r"[^\n]", " ", text[tree.start(node) : start])
            text = text[: tree.start(node)] + blank + text[start:end] + " " + text[end + 1 :]
    return tree if text == tree.text else SyntaxTree("rust", text)


def _parameters(tree: SyntaxTree) -> frozenset[str]:
    """Names of all type parameters."""
    found = set()
    for node in inner_nodes(tree.root):
        if node.type == "type_parameters":
            for child in node.children:
                name = child.child_by_field_name("name") or child.child_by_field_name("left")
                if child.is_named and child.type != "const_parameter":
                    found.add(tree.source(name or child))
    return frozenset(name for name in found if re.fullmatch(r"[A-Z]\w*", name))


def words_of(text: str) -> frozenset[str]:
    """All words of a text outside of comments and literals, and those of formats in literals."""
    found = set()
    for token in RustFrontend.lexicon.tokens(text):
        if token.kind == "word":
            found.add(token.text.removeprefix("r#"))
        elif token.kind == "literal" and "{" in token.text:
            found.update(re.findall(r"\{(\w+)", token.text))
    return frozenset(found)


def _last_name(tree: SyntaxTree, node: Node | None) -> str:
    while node is not None:
        match node.type:
            case "generic_type" | "reference_type" | "pointer_type":
                node = node.child_by_field_name("type")
            case "scoped_type_identifier":
                node = node.child_by_field_name("name")
            case "type_identifier" | "primitive_type":
                return tree.source(node)
            case _:
                return next(
                    (
                        tree.source(part)
                        for part in inner_nodes(node)
                        if part.type in ("type_identifier", "primitive_type")
                    ),
                    "",
                )
    return ""


def _members(tree: SyntaxTree, node: Node, start: int) -> tuple[Member, ...]:
    """What is in an impl block or a trait and enabled; what begins at a place is, whatever its conditions."""
    body = node.child_by_field_name("body")
    found: list[Member] = []
    pending: list[Node] = []
    kinds = {
        "function_item": "fn",
        "function_signature_item": "fn",
        "const_item": "const",
        "type_item": "type",
        "associated_type": "type",
        "macro_invocation": "macro",
    }
    for child in body.children if body is not None else ():
        if child.type == "attribute_item":
            pending.append(child)
        elif child.type in kinds:
            attributes, pending = tuple(pending), []
            name = child.child_by_field_name("name")
            if child.start_byte == start or is_enabled(tree, attributes):
                text = tree.source(child)
                found.append(
                    Member(
                        kinds[child.type],
                        tree.source(name).removeprefix("r#") if name is not None else "",
                        child,
                        attributes,
                        words_of(text),
                    )
                )
        elif "comment" not in child.type:
            pending = []
    return tuple(found)


def _imports(tree: SyntaxTree, node: Node, prefix: tuple[str, ...]) -> Iterator[Import]:
    stack = [(node, prefix)]
    while stack:
        node, prefix = stack.pop()
        match node.type:
            case "use_list":
                stack.extend((child, prefix) for child in reversed(node.children) if child.is_named)
            case "scoped_use_list":
                path = node.child_by_field_name("path")
                inner = node.child_by_field_name("list")
                if inner is not None:
                    stack.append((inner, prefix + (_segments(tree, path) if path is not None else ())))
            case "use_wildcard":
                parts = [child for child in node.children if child.is_named]
                yield Import(path=(*prefix, *(_segments(tree, parts[0]) if parts else ()), "*"), name="")
            case "use_as_clause":
                path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
                if path is not None and alias is not None:
                    yield _imported((*prefix, *_segments(tree, path)), tree.source(alias))
            case "identifier" | "scoped_identifier" | "self" | "crate" | "super":
                yield _imported((*prefix, *_segments(tree, node)), "")


def _imported(path: tuple[str, ...], alias: str) -> Import:
    if path and path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    return Import(path=path, name=alias or path[-1])


def _segments(tree: SyntaxTree, node: Node) -> tuple[str, ...]:
    return tuple(re.findall(r"[A-Za-z_]\w*", tree.source(node)))


def features_of(text: str) -> tuple[str, ...]:
    """Features that the compiler is told to switch on: all that the file asks for but those for nightly."""
    names = sorted(set(re.findall(r'feature\s*=\s*"([\w+.-]{1,60})"', text)))
    return tuple(name for name in names if not _FEATURES_OFF.search(name))


def is_enabled(tree: SyntaxTree, attributes: tuple[Node, ...]) -> bool:
    """Whether no ``cfg`` among attributes switches what follows off."""
    for attribute in attributes:
        match = re.match(r"#\s*\[\s*cfg\s*\((.*)\)\s*\]\s*\Z", tree.source(attribute), re.DOTALL)
        if match and not _holds(re.findall(r'"[^"]*"|\w+|[(),=]', match[1])):
            return False
    return True


def _holds(tokens: list[str]) -> bool:
    """Evaluate the condition of a ``cfg``; what does not parse holds."""
    stack: list[tuple[str, list[bool]]] = [("all", [])]
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token in ("all", "any", "not") and place + 1 < len(tokens) and tokens[place + 1] == "(":
            stack.append((token, []))
            place += 2
            continue
        if token == ")":
            if len(stack) < 2:
                return True
            name, values = stack.pop()
            value = all(values) if name == "all" else any(values) if name == "any" else not all(values)
            stack[-1][1].append(value)
        elif re.match(r"\w", token):
            value_text = ""
            if place + 2 < len(tokens) and tokens[place + 1] == "=":
                value_text = tokens[place + 2].strip('"')
                place += 2
            stack[-1][1].append(_is_set(token, value_text))
        place += 1
    return all(stack[0][1])


def _is_set(name: str, value: str) -> bool:
    match name:
        case "feature":
            return not _FEATURES_OFF.search(value)
        case "unix" | "debug_assertions" | "panic":
            return True
        case "target_os":
            return value == "linux"
        case "target_family":
            return value == "unix"
        case "target_env":
            return value == "gnu"
        case "target_pointer_width":
            return value == "64"
        case "target_endian":
            return value == "little"
        case "target_arch":
            return value == "x86_64"
    return name.startswith("target_has_atomic")
