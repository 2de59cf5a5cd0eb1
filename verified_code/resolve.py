"""What the names of a specification clause refer to: modules, imports, types, members and local scopes.

Follows Dafny's own order: bound variables, parameters and results; members of the enclosing class; constructors of the
module's datatypes; declarations of the module; what it refines; what it imports opened. Types of receivers are not
inferred: what stands behind a value's dot is a field or member and refers to no top-level declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from verified_code import syntax as s
from verified_code.component import Component
from verified_code.declarations import Declaration, File

SPEC_SIDE, IMPL_SIDE = "spec", "impl"
_TYPE_KINDS = frozenset(("class", "trait", "datatype", "codatatype", "newtype", "type"))


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A declaration and where it stands. `member_of`: the type that it is declared in, else empty."""

    declaration: Declaration
    side: str
    file: File
    module: str
    member_of: str = ""

    @property
    def qualified(self) -> str:
        return ".".join(part for part in (self.module, self.member_of, self.declaration.name) if part)


@dataclass(eq=False)
class Module:
    """A module's own names. `parent` is where the names of its imports are looked up."""

    name: str
    parent: Module | None
    side: str
    symbols: dict[str, Symbol] = field(default_factory=dict)
    redeclared: set[str] = field(default_factory=set)
    constructors: dict[str, Symbol] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    imports: dict[str, Declaration] = field(default_factory=dict)
    refines: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        return f"{self.parent.qualified}.{self.name}" if self.parent and self.parent.name else self.name

    @property
    def opened(self) -> list[Declaration]:
        return [i for i in self.imports.values() if i.opened]


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a clause. `how`: `symbol` (then `symbol` tells which), `binder`, `parameter`, `field`, `type`, `module`,
    `constructor`, `member`, `unresolved`. `in_statement`: it stands in an `assert` or the like within the expression."""

    name: str
    at: int
    how: str
    symbol: Symbol | None = None
    in_statement: bool = False


class Program:
    """The names of all files of a component. Implementation declarations hide specification ones of the same name."""

    def __init__(self, component: Component) -> None:
        self.root = Module("", None, SPEC_SIDE)
        self.constructors: dict[str, list[Declaration]] = {}  # by name, the datatypes that have it
        for side, files in ((SPEC_SIDE, component.spec), (IMPL_SIDE, component.impl)):
            for file in files:
                self._enter(file.declarations, self.root, side, file)

    def _enter(self, declarations: Iterable[Declaration], module: Module, side: str, file: File) -> None:
        for declaration in declarations:
            name = declaration.name
            if declaration.kind == "module":
                known = module.modules.get(name)
                if known is None or known.side != side:
                    if known is not None:
                        module.redeclared.add(name)
                    known = module.modules[name] = Module(name, module, side)
                known.refines = known.refines or declaration.target
                self._enter(declaration.members, known, side, file)
            elif declaration.kind == "import":
                module.imports[name] = declaration
            elif declaration.kind != "export":
                before = module.symbols.get(name)
                if before is not None and before.side != side:
                    module.redeclared.add(name)
                symbol = Symbol(declaration, side, file, module.qualified)
                module.symbols[name] = symbol
                for constructor in declaration.constructors:
                    self.constructors.setdefault(constructor.name, []).append(declaration)
                    module.constructors.setdefault(constructor.name, symbol)

    # -- datatypes and types, for evaluation -----------------------------------------------------------------------

    def module_of(self, symbol: Symbol) -> Module:
        return self.module_at(symbol.module.split(".")) if symbol.module else self.root

    def constructor_fields(self, name: str) -> list[str]:
        """The fields of a constructor; none where datatypes of this name disagree."""
        found = [
            [p.name for p in c.parameters]
            for d in self.constructors.get(name, ())
            for c in d.constructors
            if c.name == name
        ]
        return found[0] if found and all(f == found[0] for f in found) else []

    def fields_beside(self, name: str) -> list[list[str]]:
        """The fields of the other constructors of the datatypes that have this one."""
        return [[p.name for p in c.parameters] for d in self.constructors.get(name, ()) for c in d.constructors]

    def siblings(self, name: str) -> set[str]:
        """The constructors of the datatypes that have this one."""
        return {c.name for d in self.constructors.get(name, ()) for c in d.constructors}

    def type_named(self, name: str, module: Module) -> tuple[Declaration | None, Module]:
        """The declared type of this (dotted) name as `module` sees it, and the module it stands in."""
        first, *rest = name.split(".")
        found: Symbol | Module | None = self.unqualified(module, first)[1]
        for part in rest:
            found = self.in_module(found, part) if isinstance(found, Module) else None
        if isinstance(found, Symbol) and found.declaration.kind in _TYPE_KINDS:
            return found.declaration, self.module_of(found)
        return None, module

    # -- modules ---------------------------------------------------------------------------------------------------

    def module_at(self, path: Iterable[str]) -> Module:
        """The module of these names from the root; the nearest one that exists."""
        module = self.root
        for name in path:
            module = module.modules.get(name, module)
        return module

    def target(self, module: Module, path: tuple[str, ...], seen: frozenset[int] = frozenset()) -> Module | None:
        """The module that an import path of `module` names: an import or module of it, or of a module around it."""
        around: Module | None = module
        first: Module | None = None
        while around is not None and first is None:
            first = (
                self._named_module(around, path[0], seen) if around is not module or path[0] in around.modules else None
            )
            if first is None and around is module and path[0] in around.imports and len(path) > 1:
                first = self._named_module(around, path[0], seen)
            around = around.parent
        for name in path[1:]:
            first = self._named_module(first, name, seen) if first is not None else None
        return first

    def _named_module(self, module: Module, name: str, seen: frozenset[int] = frozenset()) -> Module | None:
        if name in module.modules:
            return module.modules[name]
        declaration = module.imports.get(name)
        if declaration is None or id(declaration) in seen:
            return None
        return self.target(module, declaration.target, seen | {id(declaration)})

    def _inherited(self, module: Module) -> Iterator[Module]:
        """`module` and what it refines, nearest first."""
        seen: set[int] = set()
        current: Module | None = module
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            current = self.target(current.parent or current, current.refines) if current.refines else None

    def in_module(self, module: Module, name: str) -> Symbol | Module | None:
        """What `module.name` is."""
        for one in self._inherited(module):
            if name in one.symbols:
                return one.symbols[name]
            found = self._named_module(one, name)
            if found is not None:
                return found
            if name in one.constructors:
                return one.constructors[name]
        return None

    def opened_modules(self, module: Module) -> Iterator[Module]:
        for one in self._inherited(module):
            for declaration in one.opened:
                target = self.target(one, declaration.target)
                if target is not None:
                    yield target

    def unqualified(self, module: Module, name: str) -> tuple[str, Symbol | Module | None]:
        """What a bare name means in `module`: (how, what)."""
        lineage = list(self._inherited(module))
        opened = list(self.opened_modules(module))
        for one in [*lineage, *opened]:
            if name in one.constructors and name not in lineage[0].symbols:
                return "constructor", one.constructors[name]
        for one in lineage:
            if name in one.symbols:
                return "symbol", one.symbols[name]
            found = self._named_module(one, name)
            if found is not None:
                return "module", found
        for one in opened:
            found_there = self.in_module(one, name)
            if isinstance(found_there, Symbol):
                return "symbol", found_there
            if found_there is not None:
                return "module", found_there
        return "unresolved", None

    def members(self, type_: Declaration, module: Module) -> Iterator[tuple[Declaration, Declaration]]:
        """The members of a type and of what it extends, as (member, type that declares it)."""
        todo, seen = [type_], {id(type_)}
        while todo:
            current = todo.pop(0)
            for member in current.members:
                yield member, current
            for base in current.extends:
                first, *rest = base.name.split(".")
                _, found = self.unqualified(module, first)
                for name in rest:
                    found = self.in_module(found, name) if isinstance(found, Module) else None
                if isinstance(found, Symbol) and id(found.declaration) not in seen:
                    seen.add(id(found.declaration))
                    todo.append(found.declaration)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a clause stands: its module, the type around its method, the method's own names."""

    program: Program
    module: Module
    type: Declaration | None
    parameters: frozenset[str]

    def references(self, node: s.Node) -> list[Reference]:
        """Every name of an expression, attributes apart, in the order of the walk."""
        found: list[Reference] = []
        _Walk(self, found).node(node, frozenset(), False)
        return found


class _Walk:
    def __init__(self, scope: Scope, found: list[Reference]) -> None:
        self.scope = scope
        self.found = found

    def add(self, name: str, at: int, how: str, symbol: Symbol | None, in_statement: bool) -> None:
        self.found.append(Reference(name, at, how, symbol, in_statement))

    def node(self, node: s.Node | None, bound: frozenset[str], stated: bool) -> None:
        if node is None:
            return
        if isinstance(node, s.Name):
            self.first(node, bound, stated)
            self.types(node.type_args, bound, stated)
        elif isinstance(node, s.Select):
            self.path(node, bound, stated)
        elif isinstance(node, s.Quantifier):
            inner = self.binders(node.binders, bound, stated)
            self.node(node.range, inner, stated)
            self.node(node.body, inner, stated)
        elif isinstance(node, s.Comprehension):
            inner = self.binders(node.binders, bound, stated)
            for part in (node.range, node.key, node.value):
                self.node(part, inner, stated)
        elif isinstance(node, s.Lambda):
            inner = self.binders(node.binders, bound, stated)
            for part in (*node.requires, *node.reads, node.body):
                self.node(part, inner, stated)
        elif isinstance(node, s.Let):
            inner = bound.union(*(self.pattern(p, bound, stated) for p in node.patterns)) if node.patterns else bound
            for value in node.values:
                self.node(value, inner if node.op == ":|" else bound, stated)
            self.node(node.body, inner, stated)
        elif isinstance(node, s.Match):
            self.node(node.of, bound, stated)
            for case in node.cases:
                self.node(case.body, bound | self.pattern(case.pattern, bound, stated), stated)
        elif isinstance(node, s.StatementExpression):
            for part in node.parts:
                self.node(part, bound, True)
            self.node(node.body, bound, stated)
        elif isinstance(node, s.DatatypeUpdate):
            self.node(node.of, bound, stated)
            for name, value in zip(node.fields, node.values, strict=True):
                self.add(name, value.at, "field", None, stated)
                self.node(value, bound, stated)
        elif isinstance(node, s.Call):
            self.node(node.of, bound, stated)
            for name, value in zip(node.names, node.args, strict=True):
                if name:
                    self.add(name, value.at, "field", None, stated)
                self.node(value, bound, stated)
        elif isinstance(node, s.Frame):
            self.node(node.of, bound, stated)
            self.add(node.field, node.at, "field", None, stated)
        elif isinstance(node, s.TypeRef):
            self.types((node,), bound, stated)
        elif isinstance(node, s.Binary):
            operands: list[s.Node] = [node]  # long chains of operators are walked without recursion
            while operands:
                operand = operands.pop()
                if isinstance(operand, s.Binary):
                    operands += [operand.right, operand.left]
                else:
                    self.node(operand, bound, stated)
        else:
            for child in s.children(node):
                self.node(child, bound, stated)

    def binders(self, binders: tuple[s.Binder, ...], bound: frozenset[str], stated: bool) -> frozenset[str]:
        inner = bound | {b.name for b in binders}
        known = bound
        for binder in binders:
            if binder.type is not None:
                self.types((binder.type,), bound, stated)
            self.node(binder.domain, known, stated)
            known |= {binder.name}
            self.node(binder.where, known, stated)
        return inner

    def pattern(self, pattern: s.Pattern, bound: frozenset[str], stated: bool) -> frozenset[str]:
        """The variables that a pattern binds."""
        if pattern.alternatives:
            return frozenset().union(*(self.pattern(p, bound, stated) for p in pattern.alternatives))
        if pattern.type is not None:
            self.types((pattern.type,), bound, stated)
        if pattern.args is not None:
            if pattern.name and pattern.name != "()":
                self.add(pattern.name.rsplit(".", 1)[-1], pattern.at, "constructor", None, stated)
            return frozenset().union(*(self.pattern(p, bound, stated) for p in pattern.args))
        if pattern.literal is not None or not pattern.name:
            return frozenset()
        last = pattern.name.rsplit(".", 1)[-1]
        if "." in pattern.name or last in self.scope.program.constructors:
            self.add(last, pattern.at, "constructor", None, stated)
            return frozenset()
        return frozenset((pattern.name,))

    def types(self, types: Iterable[s.TypeRef], bound: frozenset[str], stated: bool) -> None:
        for one in types:
            for name in one.name.split("."):
                self.add(name, one.at, "type", None, stated)
            self.types(one.args, bound, stated)

    def first(self, node: s.Name, bound: frozenset[str], stated: bool) -> Symbol | Module | None:
        """Record the first name of a path; return what a following dot would look into."""
        name, scope = node.name, self.scope
        if name in bound:
            self.add(name, node.at, "binder", None, stated)
            return None
        if name in scope.parameters:
            self.add(name, node.at, "parameter", None, stated)
            return None
        if scope.type is not None:
            for member, _ in scope.program.members(scope.type, scope.module):
                if member.name == name:
                    self.add(name, node.at, "member" if member.is_function else "field", None, stated)
                    return None
        how, found = scope.program.unqualified(scope.module, name)
        self.add(name, node.at, how, found if isinstance(found, Symbol) and how == "symbol" else None, stated)
        return found if how != "constructor" else None

    def path(self, node: s.Select, bound: frozenset[str], stated: bool) -> None:
        """`a.b.c`: modules first, then types, then fields of values."""
        chain: list[s.Select] = []
        base: s.Node = node
        while isinstance(base, s.Select):
            chain.append(base)
            base = base.of
        chain.reverse()
        if not isinstance(base, s.Name):
            self.node(base, bound, stated)
            for part in chain:
                self.add(part.field, part.at, "field", None, stated)
                self.types(part.type_args, bound, stated)
            return
        within = self.first(base, bound, stated)
        self.types(base.type_args, bound, stated)
        for part in chain:
            self.types(part.type_args, bound, stated)
            if isinstance(within, Module):
                found = self.scope.program.in_module(within, part.field)
                if isinstance(found, Symbol):
                    constructor = part.field != found.declaration.name
                    self.add(
                        part.field,
                        part.at,
                        "constructor" if constructor else "symbol",
                        None if constructor else found,
                        stated,
                    )
                    within = None if constructor else found
                else:
                    self.add(part.field, part.at, "module" if found else "unresolved", None, stated)
                    within = found
            elif isinstance(within, Symbol) and within.declaration.kind in _TYPE_KINDS:
                within = self.type_member(within, part, stated)
            else:
                self.add(part.field, part.at, "field", None, stated)
                within = None

    def type_member(self, owner: Symbol, part: s.Select, stated: bool) -> Symbol | Module | None:
        """`T.member`: a constructor, or a static member declared in the type."""
        for member in owner.declaration.members:
            if member.name == part.field:
                symbol = Symbol(member, owner.side, owner.file, owner.module, owner.declaration.name)
                self.add(part.field, part.at, "symbol", symbol, stated)
                return None
        known = any(c.name == part.field for c in owner.declaration.constructors)
        self.add(part.field, part.at, "constructor" if known else "field", None, stated)
        return None
