"""Debian's Dafny as an independent judge: its own name resolution against ours, and the JavaScript that it compiles
predicates to against our evaluator. Skipped, with the reason, where Dafny 2.x, node or bignumber.js are not there."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.verified_code.test_gate import GOOD, HEAD, TRAPS
from verified_code.cases import Case, find_target
from verified_code.component import Component, from_texts, load_component
from verified_code.declarations import Declaration
from verified_code.evaluate import Evaluator
from verified_code.javascript import JobBuilder, mangled
from verified_code.post2exe import Truth, judge_case
from verified_code.resolve import Module, Program, Scope

CORPUS = Path(__file__).parent.parent / "corpus" / "gate"
NODE_MODULES = "/usr/share/nodejs"

dafny2 = pytest.mark.skipif(shutil.which("dafny") is None, reason="dafny is not on the PATH (apt-get install dafny)")
node = pytest.mark.skipif(
    shutil.which("node") is None or not Path(NODE_MODULES, "bignumber.js").exists(),
    reason="node or bignumber.js is not there (apt-get install nodejs node-bignumber)",
)
pytestmark = [pytest.mark.dafny, dafny2]


def dafny(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "NODE_PATH": NODE_MODULES}
    return subprocess.run(
        ["dafny", "/nologo", *argv], cwd=folder, capture_output=True, text=True, timeout=120, env=env, check=False
    )


# -- names ---------------------------------------------------------------------------------------------------------------

PROCEDURE = re.compile(
    r"^procedure (?:\{[^}]*\} )*Impl\$\$([^(\s]+)\((.*?)(?=^(?:procedure|implementation|function|const|axiom|type)\b|\Z)",
    re.S | re.M,
)
FUNCTION = re.compile(r"(?<![#\w$.'])([\w']+)\.([\w']+)\.([\w'?]+?)(?:#Handle\w*|#Requires)?\(")


def dafny_names(folder: Path, files: list[str]) -> dict[str, set[str]] | None:
    """Method -> functions that Dafny resolved in its `ensures`, as `Type.name`; None where Dafny refuses the files."""
    done = dafny(folder, "/noVerify", "/compile:0", "/print:out.bpl", *files)
    if done.returncode:
        return None
    found: dict[str, set[str]] = {}
    for path in folder.glob("out*.bpl"):
        for match in PROCEDURE.finditer(path.read_text("utf-8")):
            if match[1].count(".") != 2:
                continue  # an iterator's
            _, type_, name = match[1].split(".")
            clauses = re.findall(r"^  (?:free )?ensures (.*?);$", match[2], re.S | re.M)
            text = " ".join(re.sub(r"\{ (?:[^{}]|\{[^{}]*\})* \}", " ", c) for c in clauses)  # triggers are attributes
            names = {f"{t}.{n}" for _, t, n in FUNCTION.findall(text) if not n.endswith("#canCall")}
            found.setdefault(f"{type_}.{name}", set()).update(names)
    return found


def our_names(component: Component) -> dict[str, set[str]]:
    """The same from our resolution; types written as Boogie writes them."""
    program = Program(component)
    found: dict[str, set[str]] = {}

    def visit(declarations: list[Declaration], module: Module, owner: Declaration | None) -> None:
        for declaration in declarations:
            if declaration.kind == "module":
                visit(declaration.members, module.modules[declaration.name], None)
            elif declaration.is_method:
                parameters = frozenset(p.name for p in (*declaration.parameters, *declaration.results))
                scope = Scope(program, module, owner, parameters)
                names = set()
                for clause in declaration.ensures:
                    for r in scope.references(clause.expression):
                        if r.symbol is not None and r.symbol.declaration.is_function:
                            names.add(f"{mangled_boogie(r.symbol.member_of) or '__default'}.{mangled_boogie(r.name)}")
                        elif r.how == "member" and owner is not None:
                            home = next(o for m, o in program.members(owner, module) if m.name == r.name)
                            names.add(f"{home.name}.{mangled_boogie(r.name)}")
                name = "__ctor" if declaration.name == "_ctor" else mangled_boogie(declaration.name)
                found[f"{mangled_boogie(owner.name) if owner else '__default'}.{name}"] = names
            elif declaration.members:
                visit(declaration.members, module, declaration)

    impl = component.implementation
    assert impl is not None
    visit(impl.declarations, program.root, None)
    return found


def mangled_boogie(name: str) -> str:
    return mangled(name)


def functions_of(component: Component) -> set[str]:
    return {mangled_boogie(d.name) for f in [*component.spec, *component.impl] for d in f.walk() if d.is_function}


def compare(folder: Path, component: Component, files: list[str]) -> tuple[bool, dict[str, Any]]:
    theirs = dafny_names(folder, files)
    if theirs is None:
        return False, {}
    known = functions_of(component)
    differences = {}
    for method, ours in our_names(component).items():
        if method in theirs:  # Dafny prints no procedure for a method without a proof obligation
            seen = {n for n in theirs[method] if n.split(".")[1] in known}
            if seen != ours:
                differences[method] = (sorted(seen), sorted(ours))
    return True, differences


def test_name_resolution_agrees_on_the_labelled_components(tmp_path: Path) -> None:
    def one(source: Path) -> tuple[str, bool, dict[str, Any]]:
        folder = tmp_path / source.name
        shutil.copytree(source, folder)
        includes = "include" in (folder / "Impl.dfy").read_text("utf-8")
        expected = json.loads((folder / "expected.json").read_text("utf-8"))
        files = ["Impl.dfy"] if includes or expected["dafny_run"] == "impl_only" else ["Spec.dfy", "Impl.dfy"]
        return source.name, *compare(folder, load_component(folder), files)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, sorted(CORPUS.iterdir())))
    resolved = [name for name, could, _ in results if could]
    # inherited contracts are printed by Dafny with the refining method; the gate speaks of the text of Impl.dfy
    different = {name: d for name, _, d in results if d and name != "59_refinement_inherits_contract"}
    assert different == {}
    assert len(resolved) >= 43, sorted({name for name, *_ in results} - set(resolved))


def test_name_resolution_agrees_on_the_small_traps(tmp_path: Path) -> None:
    def one(item: tuple[int, str]) -> tuple[str, bool, dict[str, Any]]:
        number, name = item
        impl, spec, *_ = TRAPS[name]
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "Spec.dfy").write_text(spec)
        (folder / "Impl.dfy").write_text(HEAD + impl)
        return name, *compare(folder, load_component(folder), ["Impl.dfy"])

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, enumerate(TRAPS)))
    assert {name: d for name, _, d in results if d} == {}
    assert sum(could for _, could, _ in results) >= 15, [name for name, could, _ in results if not could]


# -- values --------------------------------------------------------------------------------------------------------------

PREDICATES = {
    "Divide(a: int, b: int)": "b != 0 ==> (a / b) * b + a % b == a && 0 <= a % b",
    "Compare(a: int, b: int)": "a / 3 < b % 5 || (a <= b < a + 4 <==> b - a < 4)",
    "Max(s: seq<int>, r: int)": "r in s && forall i :: 0 <= i < |s| ==> s[i] <= r",
    "Sorted(s: seq<int>)": "forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j]",
    "Some(s: seq<int>, a: int)": "exists i :: 0 <= i < |s| && s[i] == a && (i == 0 || s[i - 1] != a)",
    "Permuted(s: seq<int>, t: seq<int>)": "multiset(s) == multiset(t) && |s| == |t|",
    "Parts(s: seq<int>, a: int)": "0 <= a <= |s| ==> s[..a] + s[a..] == s && (a > 0 ==> s[..a] != [])",
    "Prefix(s: seq<int>, t: seq<int>)": "s <= t || t < s",
    "Sets(s: seq<int>, t: seq<int>)": "(set x | x in s) * (set x | x in t) == {} ==> forall x :: x in s ==> !(x in t)",
    "Subset(s: seq<int>, t: seq<int>)": "(set x | x in s) <= (set x | x in t)",
    "Text(u: string, c: char)": "c in u ==> exists i :: 0 <= i < |u| && u[i] == c",
    "Letters(u: string)": "forall i :: 0 <= i < |u| ==> 'a' <= u[i] <= 'c'",
    "Where(s: seq<int>, a: int)": "var n := |s|; if n > 2 then s[n - 1] > a else a > n",
    "Real(a: int, b: int)": "b != 0 ==> (a as real) / (b as real) <= 1.5",
    "Implies(a: int, b: int)": "a > b ==> b < 2 ==> a != 3",
    "Recursive(s: seq<int>, a: int)": "Sum(s) <= a",
}  # fmt: skip
FUNCTIONS = "function method Sum(s: seq<int>): int { if |s| == 0 then 0 else s[0] + Sum(s[1..]) }\n"


@node
def test_compiled_predicates_agree_with_the_evaluator(tmp_path: Path) -> None:
    draw = random.Random(5)
    spec = FUNCTIONS + "".join(f"predicate method {head} {{ {body} }}\n" for head, body in PREDICATES.items())
    impl, names = "", []
    for head in PREDICATES:
        name, parameters = head.rstrip(")").split("(")
        arguments = ", ".join(p.split(":")[0].strip() for p in parameters.split(", "))
        impl += f"method Check{name}({parameters}) returns (ok: bool) ensures ok == {name}({arguments}) {{ ok := {name}({arguments}); }}\n"
        names.append(f"Check{name}")
    (tmp_path / "Spec.dfy").write_text(spec)
    (tmp_path / "Impl.dfy").write_text(HEAD + impl)
    done = dafny(tmp_path, "/noVerify", "/compileTarget:js", "/compile:1", "/spillTargetCode:3", "Impl.dfy")
    code = (tmp_path / "Impl.js").read_text("utf-8") if (tmp_path / "Impl.js").exists() else ""
    assert code, done.stdout + done.stderr
    (tmp_path / "run.js").write_text(code + "\n" + Path("verified_code/data/driver.js").read_text("utf-8"))
    component = load_component(tmp_path)
    compared = {True: 0, False: 0}
    for name in names:
        target = find_target(component, name)
        inputs = [
            {p.name: drawn(draw, p.type.name if p.type else "") for p in target.method.parameters} for _ in range(80)
        ]
        (tmp_path / "job.json").write_text(json.dumps(JobBuilder(target, code).job(inputs)))
        with (tmp_path / "out.jsonl").open("wb") as out:
            run = ["bash", "-c", f"exec node run.js job.json 3>&{out.fileno()}"]
            subprocess.run(
                run,
                cwd=tmp_path,
                pass_fds=[out.fileno()],
                env={"PATH": os.environ["PATH"], "NODE_PATH": NODE_MODULES},
                timeout=60,
                check=True,
            )
        lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert [line["i"] for line in lines] == list(range(len(inputs)))
        for line, given in zip(lines, inputs, strict=True):
            assert "output" in line, (name, given, line)
            result = judge_case(target, Case(given, line["output"]))
            assert result.truth is Truth.TRUE, (name, given, line, result)
            flipped = judge_case(target, Case(given, {"ok": not line["output"]["ok"]}))
            assert flipped.truth is Truth.FALSE, (name, given, line, flipped)
            compared[line["output"]["ok"]] += 1
    assert min(compared.values()) > 100, compared


def drawn(draw: random.Random, type_: str) -> Any:
    if type_ == "int":
        return draw.randint(-6, 6)
    if type_ == "seq":
        return [draw.randint(-2, 3) for _ in range(draw.randint(0, 5))]
    if type_ == "string":
        return "".join(draw.choice("abcd") for _ in range(draw.randint(0, 4)))
    return draw.choice("abcd")


def test_what_dafny_cannot_compile_is_not_executable_here(tmp_path: Path) -> None:
    (tmp_path / "a.dfy").write_text("predicate method P(x: int) { forall d: int :: d > x ==> d * d > 0 }")
    done = dafny(tmp_path, "/compile:0", "/dafnyVerify:0", "a.dfy")
    assert "quantifiers in non-ghost contexts must be compilable" in done.stdout
    component = from_texts(
        GOOD, "method M(x: int) returns (b: bool) ensures b == (forall d: int :: d > x ==> d * d > 0) { }"
    )
    result = judge_case(find_target(component), Case({"x": 1}, {"b": True}))
    assert (result.truth, "unbounded d" in result.why) == (Truth.UNKNOWN, True)
    assert Evaluator(find_target(component).program).sample is False
