"""What a model is asked: sentences that the checks own, put together around an artifact, in Korean and English.

A prompt states each active check and nothing else (paper tables 21 and 22; contracts.md section 5). The sentences of
`format.*` stand in the format's file, those of a rule beside the rule; what all formats share stands here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from serial7.artifacts import Artifact
from serial7.check import AnyRule, Due, Statement
from serial7.format import AnyFormat
from serial7.formats import get_format
from serial7.grid import Request
from serial7.ir import number_text
from serial7.operations import OPERATIONS
from serial7.verify import active_checks

TEXT_CARRIERS = ("xml", "markdown", "html", "latex")

_OPERATIONS = ", ".join(f"{o.name} ({o.arity})" for o in OPERATIONS.values())
_OPERATIONS_KO = (
    _OPERATIONS.replace(" or more", "개 이상").replace(" or ", "개 또는 ").replace(")", "개)").replace("이상개", "이상")
)

# Owned by a base check of every format, beside the format's own sentences.
NUMBER_GRAMMAR = Statement(
    "A number is written in ASCII digits with an optional minus sign, decimal point and exponent (-12, 0.5, 1.2e-3): "
    "no thousands separators, units, currency or percent signs, no leading zeros and no plus sign.",
    "수는 ASCII 숫자로 쓰고 필요하면 음수 부호, 소수점, 지수를 붙입니다(-12, 0.5, 1.2e-3). 천 단위 구분 기호, 단위, 통화 기호, "
    "퍼센트 기호, 앞자리 0, 양수 부호는 쓰지 마세요.",
)
NOTHING_ELSE = Statement(
    "Add nothing that this contract does not name, and write nothing twice that it asks for once.",
    "이 규격에 없는 것은 추가하지 말고, 한 번만 쓰라고 한 것은 두 번 쓰지 마세요.",
)
NAME_GRAMMAR = Statement(
    "Input names and step ids begin with an ASCII letter and consist of ASCII letters, digits and underscores; true, "
    "false, null, inf and nan in any letter case are not allowed.",
    "입력 이름과 단계 id는 ASCII 영문자로 시작하고 ASCII 영문자, 숫자, 밑줄로만 이루어집니다. 대소문자와 관계없이 true, "
    "false, null, inf, nan은 쓸 수 없습니다.",
    when="graph",
)
NOT_EMPTY = Statement(
    "There is at least one input and at least one step.",
    "입력과 단계는 각각 하나 이상 있어야 합니다.",
    when="graph",
)

SHARED: dict[str, tuple[Statement, ...]] = {
    "structure.unique_input_names": (Statement("All input names are distinct.", "입력 이름은 서로 달라야 합니다."),),
    "structure.unique_step_ids": (
        Statement(
            "All step ids are distinct, and none equals an input name.",
            "단계 id는 서로 달라야 하며 입력 이름과도 겹치지 않아야 합니다.",
        ),
    ),
    "structure.input_fields_present": (
        Statement("Every input has a name and a value.", "모든 입력에는 이름과 값이 있어야 합니다."),
    ),
    "structure.step_fields_present": (
        Statement(
            "Every step has an id, an operation, at least one argument and a value.",
            "모든 단계에는 id, 연산, 하나 이상의 인자, 값이 있어야 합니다.",
        ),
    ),
    "semantic.answer": (
        Statement(
            "The answer is the final answer to the question: an integer exactly, any other number to within a relative "
            "error of 1e-6.",
            "답은 문제의 최종 답입니다. 정수는 정확해야 하고, 그 밖의 수는 상대 오차 1e-6 이내여야 합니다.",
            when="number",
        ),
        Statement(
            "The answer is the final answer to the question, in the words that it asks for.",
            "답은 문제의 최종 답이며, 문제에서 요구한 표기로 씁니다.",
            when="text",
        ),
    ),
    "semantic.input_values": (
        Statement(
            "The inputs contain each quantity that the solution takes from the question or the materials, each as an input "
            "of its own, with the value given there (a percentage as the number before the percent sign).",
            "문제나 자료에서 가져와 풀이에 쓰는 양은 각각 하나의 입력으로, 거기에 주어진 값 그대로 씁니다(백분율은 퍼센트 기호 "
            "앞의 수로 씁니다).",
        ),
    ),
    "semantic.step_consistent": (
        Statement(
            "The steps are carried out in order. Each argument is the name of an input, the id of an earlier step, or a "
            "numeric literal.",
            "단계는 순서대로 수행합니다. 각 인자는 입력 이름, 앞선 단계의 id, 상수 중 하나입니다.",
        ),
        Statement(
            f"An operation is one of these, with that many arguments: {_OPERATIONS}. modulo is a - b * floor(a / b), round "
            "takes a value and optionally a number of digits and rounds halves away from zero, and angles are in radians.",
            f"연산은 다음 중 하나이며 괄호 안은 인자 수입니다: {_OPERATIONS_KO}. modulo는 a - b * floor(a / b)이고, round는 값과 "
            "선택적으로 자릿수를 받아 반올림하며(절반은 0에서 먼 쪽으로), 각도는 라디안입니다.",
        ),
        Statement(
            "The value of a step is the result of its operation on the values of its arguments: an integer exactly, any "
            "other number to within a relative error of 1e-6. The value of the last step equals the answer.",
            "단계의 값은 인자들의 값에 연산을 적용한 결과입니다. 정수는 정확해야 하고, 그 밖의 수는 상대 오차 1e-6 이내여야 "
            "합니다. 마지막 단계의 값은 답과 같아야 합니다.",
        ),
    ),
    "preserve.answer": (
        Statement("The answer is the source document's answer.", "답은 원본 문서의 답과 같아야 합니다."),
    ),
    "preserve.inputs": (
        Statement(
            "The inputs are the source document's inputs: the same names and values in the same order.",
            "입력은 원본 문서의 입력과 이름, 값, 순서가 모두 같아야 합니다.",
        ),
    ),
    "preserve.steps": (
        Statement(
            "The steps are the source document's steps: the same ids, operations, arguments and values in the same order.",
            "단계는 원본 문서의 단계와 id, 연산, 인자, 값, 순서가 모두 같아야 합니다.",
        ),
    ),
}

_TEXT = {
    "derive": (
        "Solve the following problem.",
        "다음 문제를 푸세요.",
    ),
    "derive_end": (
        "Write the final answer alone on the last line, in the form `Answer: <final answer>`.",
        "마지막 줄에는 `정답: <최종 답>` 형식으로 최종 답만 쓰세요.",
    ),
    # No format is named before the contract: all formats share what stands before it, and engines cache prefixes.
    "realize": (
        "Solve the problem below and write the result as one document that follows this contract.",
        "아래 문제를 풀고, 그 결과를 다음 규격을 따르는 문서 하나로 쓰세요.",
    ),
    "preserve": (
        "Rewrite the source document below as one document that follows this contract, with the same content. "
        "Neither solve nor correct anything.",
        "아래 원본 문서를, 내용은 그대로 두고 다음 규격을 따르는 문서 하나로 옮겨 쓰세요. "
        "문제를 다시 풀거나 내용을 고치지 마세요.",
    ),
    "question": ("[Question]", "[문제]"),
    "materials": ("[Materials]", "[자료]"),
    "source": ("[Source document: {title}]", "[원본 문서: {title}]"),
    "contract": ("[Contract: {title}]", "[규격: {title}]"),
    "rules": ("[Additional rules]", "[추가 규칙]"),
    "content": ("[Content]", "[내용]"),
}


class Stated(NamedTuple):
    """One sentence of a prompt, the check that owns it, and the part where it stands (table 22)."""

    check: str
    statement: Statement
    part: Literal["contract", "rules", "content"]


def statements(format_: AnyFormat, due: Due, rules: tuple[str, ...], condition: str) -> list[Stated]:
    """The sentences of a prompt in order, each with its check. The alignment audit reads the same list."""
    active = {name: rule for name, rule in format_.rules.items() if name in rules}
    owner = {rule.replaces: rule.check for rule in active.values() if rule.replaces}
    stated = []
    for base in format_.base_checks(due):
        check = owner.get(base, f"format.{base}")
        for statement in (*format_.contract[base], *_shared_base(format_, base, active)):
            dropped = (statement.base and base in owner) or any(rule in active for rule in statement.unless)
            if due.applies(statement.when) and not dropped:
                stated.append(Stated(check, statement, "contract"))
    stated += [Stated(rule.check, Statement(rule.en, rule.ko), "rules") for rule in active.values()]
    for check in active_checks(format_, due, active, condition, with_gold=True):
        stated += [Stated(check, s, "content") for s in SHARED.get(check, ()) if due.applies(s.when)]
    return stated


def _shared_base(format_: AnyFormat, base: str, active: dict[str, AnyRule]) -> tuple[Statement, ...]:
    match base:
        case "root_container":
            return (NOTHING_ELSE,)
        case "answer_slot" if format_.name in TEXT_CARRIERS or "numeric_as_string" in active:
            return (NUMBER_GRAMMAR._replace(when="number"),)
        case "inputs_container":
            return (NAME_GRAMMAR, NOT_EMPTY)
    return ()


def messages(request: Request, artifact: Artifact) -> list[dict[str, str]]:
    """The chat messages of a request: one user message."""
    return [{"role": "user", "content": prompt(request, artifact)}]


def prompt(request: Request, artifact: Artifact) -> str:
    """The text of a request, in its language."""
    lang = 0 if request.language == "en" else 1
    say = {key: texts[lang] for key, texts in _TEXT.items()}
    if request.condition == "derive":
        return "\n\n".join([say["derive"], *_problem(request, artifact, say), say["derive_end"]])
    format_ = get_format(request.format)
    if request.condition == "preserve":
        source = get_format(request.source_format)
        title = say["source"].format(title=source.title)
        body = [f"{title}\n{source.render(artifact.ir, frozenset(), source.styles[0])}"]
    else:
        body = _problem(request, artifact, say)
    stated = statements(format_, artifact.due, request.rules, request.condition)
    blocks = []
    for part in ("content", "contract", "rules"):
        lines = [f"- {s.statement[lang]}" for s in stated if s.part == part]
        if lines:
            blocks.append("\n".join([say[part].format(title=format_.title), *lines]))
    return "\n\n".join([say[request.condition], *blocks, *body])


def _problem(request: Request, artifact: Artifact, say: dict[str, str]) -> list[str]:
    parts = [f"{say['question']}\n{artifact.question[request.language]}"]
    materials = artifact.materials[request.language]
    return [*parts, f"{say['materials']}\n{materials}"] if materials else parts


def gold_answer(request: Request, artifact: Artifact) -> str:
    """What a perfect model answers: the gold realization, or the labelled final answer in Derive."""
    if request.condition == "derive":
        answer = artifact.ir.answer
        label = "Answer" if request.language == "en" else "정답"
        return f"{label}: {answer if isinstance(answer, str) else number_text(answer)}"
    format_ = get_format(request.format)
    return format_.render(artifact.ir, frozenset(request.rules), format_.styles[0])
