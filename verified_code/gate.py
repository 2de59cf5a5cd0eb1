"""Surface B, the ensures-binding gate: does some `ensures` of a method bind to a predicate or function of the paired
specification? Static, without a solver. Source: surfaces.md, "Surface B"; paper section 3 and appendix C.

Two readings, side by side. By resolution (strict, the headline): a component is bound iff every method of `Impl.dfy` but
`Main` and tests has a clause with a name that *resolves* to a predicate or function declared in the specification, at
top level or in a module. By name (the paper's letter): iff some clause *names* one (bound variables do not count) and no
method, `Main` included, is without any clause; "methods with zero ensures clauses fail the gate immediately".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from verified_code.bypass import Flag, bypass_flags
from verified_code.component import IMPL, SPEC, Component, Unreadable
from verified_code.declarations import Clause, Declaration, File
from verified_code.errors import Place
from verified_code.resolve import SPEC_SIDE, Module, Program, Reference, Scope


class GateVerdict(StrEnum):
    """`unparsed` and `no_method` are outcomes of their own: never bound, and counted in every denominator."""

    BOUND = "bound"
    NOT_BOUND = "not_bound"
    NO_METHOD = "no_method"
    UNPARSED = "unparsed"


REASONS = {
    "no_ensures": "it has no ensures clause",
    "inherited_contract": "it has no ensures clause of its own; a contract comes from what its module refines",
    "free_only": "its only clauses are free: nobody proves them",
    "inline_only": "its clauses name nothing that the specification declares",
    "shadowed_by_binder": "the name is a variable bound in the clause",
    "shadowed_by_parameter": "the name is a parameter or result of the method",
    "shadowed_by_local": "a declaration of the module hides the imported one",
    "redeclared": "the implementation declares the name itself, and the clause means that",
    "attribute_only": "the name stands in an attribute, which is no part of the postcondition",
    "other_kind": "the name is a field, constructor, type or other thing, no predicate or function of the specification",
    "spec_member": "the name is a member of a type of the specification, no declaration of its top level or of a module",
    "not_in_scope": "the specification declares the name where the clause cannot see it",
    "impl_only_symbol": "the predicate or function named is declared by the implementation only",
    "undeclared": "the clause names something that is declared nowhere",
}


@dataclass(frozen=True, slots=True)
class Binding:
    """Clause `clause` (from 1) names `name` at `place`, which `declared` declares as `symbol`."""

    clause: int
    name: str
    place: Place
    symbol: str
    declared: Place
    statement_only: bool


@dataclass(frozen=True, slots=True)
class MethodReport:
    """`reason` is empty where the method is bound by resolution; `detail` names the symbol and the place."""

    name: str
    place: Place
    n_ensures: int
    exempt: bool
    bound_by_name: bool
    bindings: tuple[Binding, ...]
    reason: str
    detail: str

    @property
    def bound_by_resolution(self) -> bool:
        return bool(self.bindings)

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.name,
            "place": str(self.place),
            "n_ensures": self.n_ensures,
            "level2": self.n_ensures > 0,
            "exempt": self.exempt,
            "bound_by_name": self.bound_by_name,
            "bound_by_resolution": self.bound_by_resolution,
            "binding": [
                {
                    "clause": b.clause,
                    "ident": b.name,
                    "at": str(b.place),
                    "resolves_to": b.symbol,
                    "declared_at": str(b.declared),
                    "statement_only": b.statement_only,
                }
                for b in self.bindings
            ],
            "reason": self.reason,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class GateReport:
    """`level2`: some declaration of `Impl.dfy` has an ensures clause (paper table 3); `level2_methods`: some method has.
    `any_method` and `all_methods` aggregate the resolution reading over the methods that are not exempt."""

    component: str
    verdict: GateVerdict
    paper_literal_verdict: GateVerdict
    level2: bool
    level2_methods: bool
    methods: tuple[MethodReport, ...] = ()
    flags: tuple[Flag, ...] = ()
    unparsed: tuple[Unreadable, ...] = field(default=())

    @property
    def level3(self) -> bool:
        return self.verdict is GateVerdict.BOUND

    @property
    def any_method(self) -> bool:
        return any(m.bound_by_resolution for m in self.methods if not m.exempt)

    @property
    def all_methods(self) -> bool:
        counted = [m for m in self.methods if not m.exempt]
        return bool(counted) and all(m.bound_by_resolution for m in counted)

    def to_dict(self) -> dict[str, Any]:
        return {
            "component": self.component,
            "verdict": str(self.verdict),
            "paper_literal_verdict": str(self.paper_literal_verdict),
            "level2": self.level2,
            "level2_methods": self.level2_methods,
            "any_method": self.any_method,
            "all_methods": self.all_methods,
            "methods": [m.to_dict() for m in self.methods],
            "flags": sorted({f.flag for f in self.flags}),
            "flag_places": [{"flag": f.flag, "declaration": f.declaration, "at": str(f.place)} for f in self.flags],
            "unparsed": [{"at": str(u.place), "why": u.why} for u in self.unparsed],
        }


def judge(component: Component, *, members: bool = False) -> GateReport:
    """The gate's report on a component.

    Args:
        members: let predicates and functions declared in types of the specification bind as well (the wider reading of
            the paper's section 3; its appendix C, and the default, say "top-level").
    """
    name = component.path.as_posix()
    impl = component.implementation
    if component.unreadable or impl is None:
        level2 = impl is not None and any(d.ensures for d in impl.walk())
        unparsed = tuple(component.unreadable) or (Unreadable(Place(IMPL, 1, 1), "there is no implementation"),)
        return GateReport(name, GateVerdict.UNPARSED, GateVerdict.UNPARSED, level2, False, unparsed=unparsed)
    try:
        methods = tuple(_Gate(component, impl, members).methods())
        flags = tuple(bypass_flags(component))
    except RecursionError:
        too_deep = Unreadable(Place(IMPL, 1, 1), "its expressions are nested too deep")
        return GateReport(name, GateVerdict.UNPARSED, GateVerdict.UNPARSED, True, True, unparsed=(too_deep,))
    level2 = any(d.ensures for d in impl.walk())
    with_clause = any(m.n_ensures for m in methods)
    counted = [m for m in methods if not m.exempt]
    if not counted:
        none = GateVerdict.NO_METHOD
        return GateReport(name, none, none, level2, with_clause, methods, flags)
    strict = all(m.bound_by_resolution for m in counted)
    literal = any(m.bound_by_name for m in methods) and all(m.n_ensures for m in methods)
    return GateReport(name, _verdict(strict), _verdict(literal), level2, with_clause, methods, flags)


def _verdict(bound: bool) -> GateVerdict:
    return GateVerdict.BOUND if bound else GateVerdict.NOT_BOUND


class _Gate:
    def __init__(self, component: Component, impl: File, members: bool) -> None:
        self.impl = impl
        self.program = Program(component)
        self.with_members = members
        self.top: set[str] = set()
        self.in_types: set[str] = set()
        for file in component.spec:
            self._symbols(file.declarations, False)
        self.spec_names = self.top | (self.in_types if members else set())

    def _symbols(self, declarations: list[Declaration], in_type: bool) -> None:
        for declaration in declarations:
            if declaration.is_function:
                (self.in_types if in_type else self.top).add(declaration.name)
            self._symbols(declaration.members, in_type or declaration.kind != "module")

    def methods(self) -> Iterator[MethodReport]:
        yield from self._methods(self.impl.declarations, (), None)

    def _methods(
        self, declarations: list[Declaration], path: tuple[str, ...], owner: Declaration | None
    ) -> Iterator[MethodReport]:
        for declaration in declarations:
            if declaration.kind == "module":
                yield from self._methods(declaration.members, (*path, declaration.name), None)
            elif declaration.is_method:
                yield self._report(declaration, path, owner)
            elif declaration.members:
                yield from self._methods(declaration.members, path, declaration)

    def _report(self, method: Declaration, path: tuple[str, ...], owner: Declaration | None) -> MethodReport:
        name = ".".join([*path, *([owner.name] if owner else []), method.name])
        module = self.program.module_at(path)
        names = frozenset(p.name for p in (*method.parameters, *method.results))
        scope = Scope(self.program, module, owner, names)
        bindings: list[Binding] = []
        by_name = False
        near: list[tuple[str, Reference]] = []
        for number, clause in enumerate(method.ensures, 1):
            references = scope.references(clause.expression)
            by_name = by_name or any(r.how != "binder" and r.name in self.spec_names for r in references)
            if clause.free:
                continue
            for reference in references:
                reason = self._why_not(reference, module)
                if reason == "":
                    bindings.append(self._binding(number, reference))
                elif reason is not None:
                    near.append((reason, reference))
        exempt = method.name == "Main" or any(a == "test" for a, _ in method.attributes)
        bindings = _first_of_each(bindings)
        reason, detail = ("", "") if bindings else self._reason(method, module, near)
        return MethodReport(
            name,
            self.impl.lines.place(method.at),
            len(method.ensures),
            exempt,
            by_name,
            tuple(bindings),
            reason,
            detail,
        )

    def _why_not(self, reference: Reference, module: Module) -> str | None:
        """Empty: the reference binds. None: it has nothing to do with the specification's names."""
        symbol = reference.symbol
        if symbol is not None and symbol.declaration.is_function and reference.how == "symbol":
            if symbol.side == SPEC_SIDE:
                return "" if not symbol.member_of or self.with_members else "spec_member"
            if reference.name not in self.top | self.in_types:
                return "impl_only_symbol"
            hidden = any(self._opens(one, reference.name) for one in self.program.opened_modules(module))
            return "shadowed_by_local" if hidden else "redeclared"
        if reference.name in self.top:
            return {
                "binder": "shadowed_by_binder",
                "parameter": "shadowed_by_parameter",
                "unresolved": "not_in_scope",
            }.get(reference.how, "other_kind")
        if reference.name in self.in_types:
            return "" if self.with_members and reference.how == "member" else "spec_member"
        return "undeclared" if reference.how == "unresolved" else None

    def _opens(self, module: Module, name: str) -> bool:
        symbol = module.symbols.get(name)
        return symbol is not None and symbol.side == SPEC_SIDE

    def _binding(self, number: int, reference: Reference) -> Binding:
        symbol = reference.symbol
        here = self.impl.lines.place(reference.at)
        if symbol is None:  # a member, in the wider reading
            return Binding(number, reference.name, here, reference.name, Place(SPEC, 1, 1), reference.in_statement)
        declared = symbol.file.lines.place(symbol.declaration.at)
        return Binding(number, reference.name, here, symbol.qualified, declared, reference.in_statement)

    def _reason(self, method: Declaration, module: Module, near: list[tuple[str, Reference]]) -> tuple[str, str]:
        if not method.ensures:
            base = self.program.target(module.parent or module, module.refines) if module.refines else None
            inherited = base.symbols.get(method.name) if base is not None else None
            if inherited is not None and inherited.declaration.ensures:
                place = inherited.file.lines.place(inherited.declaration.at)
                return "inherited_contract", f"{inherited.qualified} at {place} carries it"
            return "no_ensures", ""
        if all(c.free for c in method.ensures):
            return "free_only", f"at {self.impl.lines.place(method.ensures[0].at)}"
        for reason in REASONS:
            for found, reference in near:
                if found == reason:
                    place = self.impl.lines.place(reference.at)
                    where = ""
                    if reference.symbol is not None:
                        where = f", declared at {reference.symbol.file.lines.place(reference.symbol.declaration.at)}"
                    return reason, f"{reference.name} at {place}{where}"
        mentioned = self._in_attributes(method.ensures)
        if mentioned:
            return "attribute_only", mentioned
        return "inline_only", f"{len(method.ensures)} clause{'s' if len(method.ensures) > 1 else ''}"

    def _in_attributes(self, clauses: list[Clause]) -> str:
        for clause in clauses:
            for _, tokens in clause.attributes:
                for token in tokens:
                    if token.kind == "ident" and token.text in self.spec_names:
                        return f"{token.text} at {self.impl.lines.place(token.at)}"
        return ""


def _first_of_each(bindings: list[Binding]) -> list[Binding]:
    """One binding a clause and symbol; one outside statements before one within."""
    found: dict[tuple[int, str], Binding] = {}
    for binding in sorted(bindings, key=lambda b: (b.clause, b.statement_only)):
        found.setdefault((binding.clause, binding.symbol), binding)
    return list(found.values())
