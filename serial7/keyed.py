"""What JSON, YAML and TOML have in common: reading a tree of keys and values, and the six rules they share.

A tree is made of `Pairs` (a mapping in the order written), `list`, `str`, `Decimal`, and `Odd` for every other
scalar (booleans, null, dates, hexadecimal). Each of the three formats parses into it; their files differ in
syntax, not in what a record is. Source: contracts.md section 4 (JSON, YAML, TOML).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, TypeGuard

from serial7.check import Due, InputRead, Look, Reading, StepRead
from serial7.ir import CanonicalIR, Ref, has_control, is_name, number_text, parse_number, undress_number

INPUT_KEYS = ("name", "value")
STEP_KEYS = ("id", "op", "args", "value")


class Pairs(list[tuple[str, "Node"]]):
    """A mapping as its (key, value) pairs in the order written, keys distinct."""

    __slots__ = ()


class Odd(NamedTuple):
    """A scalar that is neither a number nor text: what it is, and how it was written."""

    kind: str
    text: str = ""


Node = Pairs | list["Node"] | str | Decimal | Odd


@dataclass(slots=True)
class Shape:
    """What the shared rules look at. `orders`: where a mapping of the contract stands, and its keys in order."""

    due: Due
    root: list[str]
    answer: Node | None = None
    inputs: Node | None = None
    steps: Node | None = None
    orders: list[tuple[str, tuple[str, ...], list[str]]] | None = None
    args: list[tuple[str, list[Node]]] | None = None  # the args of each step, where it has some
    numbers: list[tuple[str, Node]] | None = None  # every scalar that stands where a number is due


def is_list(node: Node | None) -> TypeGuard[list[Node]]:
    """Whether the node is a list of values (`Pairs`, a list of pairs, is none)."""
    return isinstance(node, list) and not isinstance(node, Pairs)


def kind_of(node: Node) -> str:
    """What a node is, for a reason in one line."""
    match node:
        case Pairs():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a string"
        case Decimal():
            return "a number"
        case Odd(kind=kind):
            return kind
    raise AssertionError(node)


def read_tree(root: Node, due: Due) -> Reading[Shape]:
    """Read a parsed document: its answer, inputs and steps in any form that some rule allows, and its faults."""
    keys = [key for key, _ in root] if isinstance(root, Pairs) else []
    shape = Shape(due, keys, orders=[], args=[], numbers=[])
    reading = Reading(shape)
    if not isinstance(root, Pairs):
        reading.fault("root_container", f"the root is {kind_of(root)}; a mapping is due", "root")
        root = Pairs()
    fields = dict(root)
    wanted = ("answer", "inputs", "steps") if due.graph else ("answer",)
    for key in fields:
        if key not in wanted:
            reading.fault("root_container", f"the key {key!r} is not one that the contract names", key)
    shape.answer = fields.get("answer")
    _read_answer(reading, shape.answer)
    if due.graph:
        shape.inputs, shape.steps = fields.get("inputs"), fields.get("steps")
        _read_inputs(reading, shape.inputs)
        _read_steps(reading, shape.steps)
    return reading


def _read_answer(reading: Reading[Shape], node: Node | None) -> None:
    if node is None:
        reading.fault("answer_slot", "the key answer is missing", "answer")
        return
    at = "answer"
    if isinstance(node, Pairs):
        fields = dict(node)
        if "value" not in fields:
            reading.fault("answer_slot", "the answer is a mapping without the key value", at)
            return
        at = "answer.value"
        if len(fields) > 1:
            extra = next(key for key in fields if key != "value")
            reading.fault("answer_slot", f"the answer mapping has the key {extra!r} beside value", "answer")
        else:
            reading.fault("answer_slot", "the answer is a mapping; the bare value is due", "answer", ("answer_object",))
        node = fields["value"]
    if reading.shape.due.text_answer:
        reading.answer = _read_text(reading, "answer_slot", node, at)
    else:
        reading.answer = read_number(reading, "answer_slot", node, at)


def read_number(reading: Reading[Shape], check: str, node: Node, at: str) -> Decimal | None:
    """The number at a place where one is due; faults go to `check`; None = absent."""
    assert reading.shape.numbers is not None
    if isinstance(node, str | Decimal):
        reading.shape.numbers.append((at, node))
    if isinstance(node, Decimal):
        return node
    if not isinstance(node, str):
        reading.fault(check, f"{kind_of(node)} where a number is due", at)
        return None
    value = parse_number(node)
    if value is not None:
        reading.fault(check, f"the number is written as the string {node!r}", at, ("numeric_as_string",))
        return value
    value = undress_number(node)
    reading.fault(check, f"the string {_short(node)} is not a number", at)
    return value


def _read_text(reading: Reading[Shape], check: str, node: Node, at: str) -> str | None:
    if isinstance(node, Decimal):
        reading.fault(check, "a bare number where text is due", at)
        return number_text(node)
    if not isinstance(node, str):
        reading.fault(check, f"{kind_of(node)} where text is due", at)
        return None
    if has_control(node):
        reading.fault(check, f"a control character in {_short(node)}", at)
    if not node.strip():
        if check == "answer_slot":
            reading.fault(check, "the answer is an empty string", at)
        return None
    return node


def read_name(reading: Reading[Shape], check: str, node: Node | None, at: str) -> str | None:
    """An input name, a step id, an operation or a reference; faults go to `check`; None = absent."""
    if node is None:
        return None
    name = _read_text(reading, check, node, at)
    if name is not None and not is_name(name) and isinstance(node, str) and not at.endswith(".op"):
        reading.fault(check, f"{_short(name)} is not a name of the contract's grammar", at)
    return name


def _read_inputs(reading: Reading[Shape], node: Node | None) -> None:
    check = "inputs_container"
    if isinstance(node, Pairs):
        reading.fault(check, "inputs is a mapping; a list of records is due", "inputs", ("inputs_as_map",))
        for key, value in node:
            at = f"inputs.{key}"
            name = read_name(reading, check, key, at)
            reading.inputs.append(InputRead(name, read_number(reading, check, value, at), at))
    elif is_list(node):
        for i, record in enumerate(node):
            at = f"inputs[{i}]"
            fields = _fields(reading, check, record, at, INPUT_KEYS)
            name = read_name(reading, check, fields.get("name"), f"{at}.name")
            reading.inputs.append(InputRead(name, _field_number(reading, check, fields, at), at))
    elif node is None:
        reading.fault(check, "the key inputs is missing", "inputs")
        return
    else:
        reading.fault(check, f"inputs is {kind_of(node)}; a list of records is due", "inputs")
        return
    if not node:
        reading.fault(check, "inputs holds no record", "inputs")


def _read_steps(reading: Reading[Shape], node: Node | None) -> None:
    check = "steps_container"
    if isinstance(node, Pairs):
        reading.fault(check, "steps is a mapping; a list of records is due", "steps", ("steps_as_map",))
        for key, record in node:
            at = f"steps.{key}"
            _read_step(reading, key, _fields(reading, check, record, at, STEP_KEYS[1:]), at)
    elif is_list(node):
        for i, record in enumerate(node):
            at = f"steps[{i}]"
            fields = _fields(reading, check, record, at, STEP_KEYS)
            _read_step(reading, fields.get("id"), fields, at)
    elif node is None:
        reading.fault(check, "the key steps is missing", "steps")
        return
    else:
        reading.fault(check, f"steps is {kind_of(node)}; a list of records is due", "steps")
        return
    if not node:
        reading.fault(check, "steps holds no record", "steps")


def _read_step(reading: Reading[Shape], id_node: Node | None, fields: dict[str, Node], at: str) -> None:
    check = "steps_container"
    reading.steps.append(
        StepRead(
            id=read_name(reading, check, id_node, f"{at}.id"),
            op=read_name(reading, check, fields.get("op"), f"{at}.op"),
            args=_read_args(reading, fields.get("args"), f"{at}.args"),
            value=_field_number(reading, check, fields, at),
            at=at,
        )
    )


def _fields(reading: Reading[Shape], check: str, record: Node, at: str, keys: tuple[str, ...]) -> dict[str, Node]:
    if not isinstance(record, Pairs):
        reading.fault(check, f"the record is {kind_of(record)}; a mapping with {', '.join(keys)} is due", at)
        return {}
    assert reading.shape.orders is not None
    reading.shape.orders.append((at, keys, [key for key, _ in record]))
    fields = dict(record)
    for key in fields:
        if key not in keys:
            reading.fault(check, f"the key {key!r} is not one that the contract names", f"{at}.{key}")
    return fields


def _field_number(reading: Reading[Shape], check: str, fields: dict[str, Node], at: str) -> Decimal | None:
    node = fields.get("value")
    if node is None or node == "":
        return None  # a missing field: structure.* speaks of it
    return read_number(reading, check, node, f"{at}.value")


def _read_args(reading: Reading[Shape], node: Node | None, at: str) -> tuple[Ref | Decimal | None, ...] | None:
    if node is None:
        return None
    if not is_list(node):
        reading.fault("steps_container", f"args is {kind_of(node)}; a list is due", at)
        return None
    assert reading.shape.args is not None
    reading.shape.args.append((at, node))
    return tuple(_read_arg(reading, arg, f"{at}[{j}]") for j, arg in enumerate(node)) or None


def _read_arg(reading: Reading[Shape], node: Node, at: str) -> Ref | Decimal | None:
    check = "steps_container"
    if isinstance(node, Pairs):
        keys = [key for key, _ in node]
        if keys not in (["ref"], ["value"]):
            reading.fault(check, f"an argument has the keys {keys}; either ref or value alone is due", at)
            return None
        reading.fault(check, "the argument is a mapping; the bare reference or number is due", at, ("args_as_objects",))
        ((key, inner),) = node
        if key == "value":
            return read_number(reading, check, inner, f"{at}.value")
        name = read_name(reading, check, inner, f"{at}.ref")
        return None if name is None else Ref(name)
    if isinstance(node, str) and undress_number(node) is None:
        name = read_name(reading, check, node, at)
        if name is None and not has_control(node):
            reading.fault(check, "an argument is an empty string", at)
        return None if name is None else Ref(name)
    return read_number(reading, check, node, at)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


# The shared rules. Each format's file wraps them in its own decorated function, with its own sentences.


def container_is_map(node: Node | None, name: str) -> Iterator[Look]:
    """`inputs` or `steps` is a mapping from name or id to what belongs to it."""
    if node is not None:
        yield Look(isinstance(node, Pairs), f"{name} is {kind_of(node)}; a mapping is due", name)


def args_are_objects(reading: Reading[Shape]) -> Iterator[Look]:
    """Every argument is `{ref: name}` or `{value: number}`."""
    for at, args in reading.shape.args or ():
        for j, arg in enumerate(args):
            ok = isinstance(arg, Pairs) and [key for key, _ in arg] in (["ref"], ["value"])
            yield Look(ok, f"the argument is {kind_of(arg)}; a mapping with ref or value is due", f"{at}[{j}]")


def answer_is_object(reading: Reading[Shape]) -> Iterator[Look]:
    """The answer is a mapping whose only key is `value`."""
    node = reading.shape.answer
    if node is not None:
        ok = isinstance(node, Pairs) and [key for key, _ in node] == ["value"]
        yield Look(ok, f"the answer is {kind_of(node)}; a mapping whose only key is value is due", "answer")


def numbers_are_strings(reading: Reading[Shape]) -> Iterator[Look]:
    """Every number is written as a string."""
    for at, node in reading.shape.numbers or ():
        yield Look(isinstance(node, str), "the number is not written as a string", at)


def keys_in_order(reading: Reading[Shape], root_order: tuple[str, ...]) -> Iterator[Look]:
    """Root keys in `root_order`, record keys in the order of the contract; keys it does not name are passed over."""
    for at, order, keys in (("root", root_order, reading.shape.root), *(reading.shape.orders or ())):
        known = [key for key in keys if key in order]
        if known:
            due = sorted(known, key=order.index)
            yield Look(known == due, f"the keys stand in the order {', '.join(known)}; due: {', '.join(due)}", at)


# Rendering.


def build_tree(ir: CanonicalIR, rules: frozenset[str], root_order: tuple[str, ...]) -> Pairs:
    """The tree of a gold document under `rules`; `root_order` is the order asked by `key_order`."""

    def number(value: Decimal) -> Node:
        return number_text(value) if "numeric_as_string" in rules else value

    def argument(arg: Ref | Decimal) -> Node:
        node = arg.name if isinstance(arg, Ref) else number(arg)
        if "args_as_objects" not in rules:
            return node
        return Pairs([("ref" if isinstance(arg, Ref) else "value", node)])

    answer: Node = ir.answer if isinstance(ir.answer, str) else number(ir.answer)
    tree = Pairs([("answer", Pairs([("value", answer)]) if "answer_object" in rules else answer)])
    if not ir.graph_bearing:
        return tree
    if "inputs_as_map" in rules:
        tree.append(("inputs", Pairs((i.name, number(i.value)) for i in ir.inputs)))
    else:
        tree.append(("inputs", [Pairs([("name", i.name), ("value", number(i.value))]) for i in ir.inputs]))
    bodies = [
        Pairs([("op", s.op), ("args", [argument(a) for a in s.args]), ("value", number(s.value))]) for s in ir.steps
    ]
    if "steps_as_map" in rules:
        tree.append(("steps", Pairs((s.id, body) for s, body in zip(ir.steps, bodies, strict=True))))
    else:
        tree.append(("steps", [Pairs([("id", s.id), *body]) for s, body in zip(ir.steps, bodies, strict=True)]))
    if "key_order" in rules:
        tree.sort(key=lambda pair: root_order.index(pair[0]))
    return tree


def reorder(tree: Pairs, *, reverse: bool) -> Pairs:
    """The same document with its free key orders turned round (root and records; maps keep their order)."""

    def records(node: Node) -> Node:
        if not is_list(node):
            return node
        return [Pairs(reversed(r)) if isinstance(r, Pairs) else r for r in node]

    if not reverse:
        return tree
    return Pairs(reversed([(key, records(node)) for key, node in tree]))


def brackets_too_deep(text: str, limit: int) -> int | None:
    """The offset of the bracket that exceeds `limit` levels outside double-quoted strings, or None. Linear."""
    depth, i, size = 0, 0, len(text)
    while i < size:
        c = text[i]
        if c == '"':
            i += 1
            while i < size and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c in "[{":
            depth += 1
            if depth > limit:
                return i
        elif c in "]}":
            depth -= 1
        i += 1
    return None
