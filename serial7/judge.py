"""Judge what a model answered to one request of the grid. Source: contracts.md sections 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence

from serial7 import derive, reply
from serial7.artifacts import Artifact
from serial7.check import Finding, Outcome
from serial7.errors import NoDocument
from serial7.grid import Request
from serial7.verify import Verdict, verify


def judge(
    request: Request, artifact: Artifact, text: str, reasoning_end: Sequence[str] = reply.REASONING_END
) -> Verdict:
    """The verdict on the raw output `text`.

    Derive has one check, `semantic.answer` (Derive accuracy is its HSR); no `format.*` is active there, so that FC
    holds of nothing.
    """
    if request.condition == "derive":
        return _judge_derive(request, artifact, text, reasoning_end)
    return verify(
        text,
        format=request.format,
        condition=request.condition,
        rules=request.rules,
        gold=artifact.ir,
        reasoning_end=reasoning_end,
    )


def _judge_derive(request: Request, artifact: Artifact, text: str, ends: Sequence[str]) -> Verdict:
    try:
        reasoning, solution = reply.strip_reasoning(text, None, ends)
    except NoDocument as fault:
        return Verdict((Finding("semantic.answer", Outcome.FAIL, fault.why),))
    question = f"{artifact.question[request.language]}\n{artifact.materials[request.language]}"
    why = derive.grade(solution, artifact.ir, question)
    finding = Finding("semantic.answer", Outcome.FAIL if why else Outcome.PASS, why)
    return Verdict((finding,), document=solution, start=len(reasoning), reasoning=reasoning)
