"""Where the final answer of a free-form solution stands, in English and Korean.

*Marks* are looked at first: `\\boxed{...}`, a label (`Answer:`, `**정답**`, a heading `Answer` with the value below it), the
sentences `the answer is ...` and `답은 ...입니다`, and GSM8K's `#### 35` on the last line. A box or label on the last line, where the
prompt asks for it, stands alone; else all marks must agree, and an earlier one that the text takes back in so many words ("wait,
that is wrong", "다시 계산하면") does not count. Only where nothing is marked,
the conclusion is read: the last sentence that says `therefore` or `따라서`, else the last one with a number, remarks
(`Check: ...`, `검산: ...`) left out. Hedged answers, and several that differ, are none. *Ours*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from serial7.amounts import ALTERNATIVE, SENTENCE_END, Amount, Unread, holds_number, numbers_in, read_amount
from serial7.ir import normalize_text
from serial7.plain_text import unwrap

MAX_TEXT = 64 * 1024
MAX_ANSWER = 1000
MAX_MARKS = 64
_SHORT = 80  # a text answer that contests another one is no longer than this; longer ones are prose

_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{|\\[{}\\]|[{}]")
_LABEL = re.compile(
    r"(?:^[ \t>*_#`\-•|\[【<〈(]{0,20}|(?<=[.!?。] )|(?<=\*\*))"
    r"(?:(?:so|thus|hence|therefore|따라서|그러므로)[ ,]{1,2})?(?:(?:the|my|our) )?(?:(?:final|correct|최종) ?)?"
    r"(?:answer|ans\.?|정답|해답|답안|답)(?:은|는)?(?![A-Za-z가-힣])"
    r"(?P<close>[ \t*_`\]】)>〉|]{0,12})(?P<sep>[:：=—→]?)[ \t]{0,12}(?:\*\*|__)?[ \t|]{0,12}",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS = re.compile(
    r"\b(?<!if the )(?<!suppose the )(?<!assume the )(?<!that the )answer(?P<of> (?:to|for|of) [^.:\n]{1,80}?)?"
    r" (?:is|was|would be|will be|must be|should be|equals)\b(?! (?:obtained|found|given|calculated|computed|derived))[ \t]*:?[ \t]*"
    r"|(?<![가-힣])(?:최종 ?)?(?:정답|해답|답안|답)(?:은|는|이)(?![가-힣])[ \t]*[:：]?[ \t]*",
    re.IGNORECASE,
)
_HASHES = re.compile(r"[ \t]{0,9}#{4}[ \t]{1,9}(?=[^#\s])")
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,60}>[`.]?|\.{3}|…|\[[^\]\n]{0,40}\]")
TAKES_BACK = re.compile(
    r"\bmade (?:a|an) (?:\w+ )?(?:mistake|error)|\b(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not right)\b|\bcorrection\b"
    r"|\bshould (?:actually )?(?:be|have been) |\bwait\b|\bon second thought|\blet me (?:re|correct|fix|try again)|\bscratch that"
    r"|실수(?:했|하였|가 있)|잘못 (?:계산|구|썼|생각)|틀렸|정정|다시 (?:계산|풀|구|생각)|아니, |아, 잠깐|잠깐[,만]",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"\b(?:therefore|thus|hence|so|in total|altogether|in conclusion|finally)\b|따라서|그러므로|그래서|결국|결론|최종적으로|∴|구하는",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"[ \t(*_>\-]{0,9}(?:check|checking|verif\w{1,9}|note|remark|p\.?s\.?|source|confidence|검산|확인|참고|참조|비고|주의)(?![A-Za-z가-힣])",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:cannot|can't|unable|do not know|don't know|not enough|insufficient|impossible to)\b"
    r"|알 수 없|구할 수 없|풀 수 없|모르겠|불가능|부족하",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"[ \t]{0,9}(?:[0-9]{1,3}[.)]|[-*+•])[ \t]{1,9}(?=\S)")
_LEAD = re.compile(r"(?:so|thus|hence|therefore|따라서|그러므로|그래서|결국)[ ,]+", re.IGNORECASE)
_COPULA = re.compile(r"(?<=\S)(?:입니다|이에요|예요|이라고 할 수 있습니다)$")
_SPOKEN_COPULA = re.compile(r"(?<=\S)(?:이다|임)$")
_MARKUP = "*_`$ \t\r\n"
_QUOTES = "\"'“”‘’「」『』«»"


@dataclass(frozen=True, slots=True)
class Final:
    """The final answer as written (`text`), or `why` there is none. `where`: boxed, label, sentence, hashes, conclusion.

    `amount`: the number read, where one is due. `spoken`: it stands in a sentence, whose copula is no part of it.
    """

    text: str | None
    why: str = ""
    where: str = ""
    amount: Amount | None = None
    spoken: bool = False


@dataclass(slots=True)
class _Mark:
    start: int
    inside: int  # where its content begins
    end: int
    content: str
    where: str
    strong: bool = True


def find_final(text: str, *, numeric: bool) -> Final:
    """The final answer of a solution. Looks at the last 64 KiB, and at the last 64 marks in it. Linear in time.

    Args:
        numeric: a number is due; the answer is then one that reads as exactly one number.
    """
    text = text[-MAX_TEXT:]
    marks, open_box = _marks(text)
    if open_box is not None and (not marks or marks[-1].start < open_box):
        return Final(None, "the last \\boxed{ is never closed")
    if any(m.strong for m in marks):
        marks = [m for m in marks if m.strong]
    found = _numeric(text, marks) if numeric else _textual(text, marks)
    if found is not None:
        return found
    return _conclusion(text) if numeric else _last_line(text)


def _marks(text: str) -> tuple[list[_Mark], int | None]:
    """All marks in order, and where a box opens that is never closed."""
    boxes, open_box = _boxes(text)
    found = [*boxes, *_labels(text), *_sentences(text)]
    last = len(text.rstrip())
    line = text.rfind("\n", 0, last) + 1
    hashes = _HASHES.match(text, line)
    if hashes is not None and not any(m.start >= line for m in found):
        found.append(_Mark(line, hashes.end(), last, text[hashes.end() : last], "hashes"))
    found.sort(key=lambda m: (m.inside, m.start))
    return [
        m for m in found if m.content.strip(_MARKUP) and not _PLACEHOLDER.fullmatch(m.content.strip(_MARKUP))
    ], open_box


def _boxes(text: str) -> tuple[list[_Mark], int | None]:
    stack: list[tuple[int, int] | None] = []  # an open brace: None, or (start, inside) of a box
    found: list[_Mark] = []
    for match in _BOX.finditer(text):
        piece = match[0]
        if piece == "{":
            stack.append(None)
        elif piece == "}":
            opened = stack.pop() if stack else None
            if opened is not None:
                start, inside = opened
                while found and found[-1].start > start:
                    found.pop()  # a box in this box
                content = text[inside : min(match.start(), inside + MAX_ANSWER)]
                found.append(_Mark(start, inside, match.end(), content, "boxed"))
        elif len(piece) > 2:
            stack.append((match.start(), match.end()))
    open_box = next((place[0] for place in reversed(stack) if place is not None), None)
    return found[-MAX_MARKS:], open_box


def _labels(text: str) -> Iterator[_Mark]:
    found = []
    for match in _LABEL.finditer(text):
        inside, end = match.end(), _line_end(text, match.end())
        if text[inside:end].strip(_MARKUP + "]】)>〉|:："):
            if not match["sep"] and not set(match["close"]) & set("*_`]】)〉|"):
                continue  # `Answer the question with 35`
            found.append((match.start(), inside, end))
        else:
            found.append((match.start(), -1, end))
    for start, inside, end in found[-MAX_MARKS:]:
        if inside >= 0:
            yield _Mark(start, inside, end, text[inside : min(end, inside + MAX_ANSWER)], "label")
        elif (below := _below(text, start, end)) is not None:
            yield below


def _sentences(text: str) -> Iterator[_Mark]:
    for match in list(_SAYS.finditer(text))[-MAX_MARKS:]:
        inside, end = match.end(), _line_end(text, match.end())
        strong = match["of"] is None and not text[max(0, match.start() - 12) : match.start()].rstrip(" ").endswith("의")
        if text[inside:end].strip(_MARKUP + ":："):
            yield _Mark(match.start(), inside, end, text[inside : min(end, inside + MAX_ANSWER)], "sentence", strong)
        elif (below := _below(text, match.start(), end)) is not None:
            below.strong = strong
            yield below


def _below(text: str, start: int, end: int) -> _Mark | None:
    """The mark whose value stands in the next line that is no fence or delimiter; a list sign before it is none of it."""
    for _ in range(4):
        begin, end = end + 1, _line_end(text, end + 1)
        if begin >= len(text):
            return None
        line = text[begin:end]
        if line.strip(" \t\r*_`$") in ("", "\\[", "\\(", "text", "```text"):
            continue
        item = _LIST_MARK.match(line)
        if item is not None and (not line[: item.end()].strip()[0].isdigit() or holds_number(line[item.end() :])):
            begin += item.end()
        return _Mark(start, begin, end, text[begin : min(end, begin + MAX_ANSWER)], "label")
    return None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _numeric(text: str, marks: list[_Mark]) -> Final | None:
    """The number that all marks agree on, or why there is none; None if no mark holds a number."""
    read = [(m, r) for m in marks if not (isinstance(r := read_amount(m.content), Unread) and r.kind == "none")]
    if not read:
        return None
    mark, last = read[-1]
    if isinstance(last, Unread):
        return Final(None, last.why)
    answer = mark.content[:MAX_ANSWER].strip(_MARKUP)
    if _closes(text, mark):
        return Final(answer, where=mark.where, amount=last)
    for earlier, other in (
        read[:-1] if (since := _taken_back(text, mark)) < 0 else [r for r in read[:-1] if r[0].start > since]
    ):
        if isinstance(other, Unread):
            if other.kind == "hedged":
                return Final(None, other.why)
        elif not other.agrees(last):
            return Final(None, f"several final answers differ: {_show(earlier.content)} and {_show(answer)}")
    tail = text[mark.inside : mark.inside + 4 * MAX_ANSWER]
    back = TAKES_BACK.search(tail)
    if back is not None and not _affirms(tail[back.end() :], last):
        after = numbers_in(tail[back.end() : back.end() + 200])
        if any(not n.agrees(last) for n in after):
            return Final(None, f"the answer {_show(answer)} is taken back ({back[0].strip()!r})")
    return Final(answer, where=mark.where, amount=last)


def _closes(text: str, mark: _Mark) -> bool:
    """Whether a box or a label is on the last line, which the prompt asks for: earlier marks then do not contest it."""
    return mark.where in ("boxed", "label") and "\n" not in text[mark.start :].strip() and mark.start > 0


def _affirms(tail: str, answer: Amount) -> bool:
    """`Wait, let me check: 12 + 23 = 35.`: what follows ends in the same number."""
    numbers = numbers_in(tail[:MAX_ANSWER])
    return bool(numbers) and numbers[-1].agrees(answer)


def _taken_back(text: str, mark: _Mark) -> int:
    """Where, before this mark, the text last takes something back; -1 if nowhere."""
    return max((m.start() for m in TAKES_BACK.finditer(text, 0, mark.start)), default=-1)


def _textual(text: str, marks: list[_Mark]) -> Final | None:
    if not marks:
        return None
    mark = marks[-1]
    for outer in marks[:-1]:
        if outer.inside < mark.start < outer.end and ALTERNATIVE.search(text[outer.inside : mark.start]):
            return Final(None, f"{_show(outer.content)} gives alternatives; one answer is due")
    if _closes(text, mark):
        return Final(mark.content.strip(_MARKUP), where=mark.where)
    last = readings(Final(mark.content, spoken=mark.where == "sentence"))
    since = _taken_back(text, mark)
    for other in marks[:-1]:
        around = other.inside <= mark.start < other.end
        seen = readings(Final(other.content, spoken=other.where == "sentence"))
        if other.start > since and not around and len(min(seen, key=len)) <= _SHORT and not seen & last:
            return Final(None, f"several final answers differ: {_show(other.content)} and {_show(mark.content)}")
    back = TAKES_BACK.search(text, mark.end)
    if back is None and (sentence := SENTENCE_END.search(mark.content)) is not None:
        back = TAKES_BACK.search(mark.content, sentence.end())
    if back is not None:
        return Final(None, f"the answer {_show(mark.content)} is taken back ({back[0].strip()!r})")
    return Final(mark.content.strip(_MARKUP), where=mark.where, spoken=mark.where == "sentence")


def readings(final: Final) -> set[str]:
    """The ways to take a text answer, normalized: with and without LaTeX, quotes, a sentence's copula, and what stands
    behind its first sentence. Each removes dress only; nothing is added and no word left out."""
    found = set()
    raw = (final.text or "")[:MAX_ANSWER]
    for text in (raw, unwrap(raw).replace("\\(", "").replace("\\)", "")):
        sentence = SENTENCE_END.search(text)
        for part in (text, text[: sentence.start()] if sentence else text):
            bare = part.strip(_MARKUP).rstrip(".!?。").strip(_MARKUP + _QUOTES)
            shapes = {part.strip(_MARKUP), bare, _COPULA.sub("", bare).strip(_MARKUP + _QUOTES)}
            if final.spoken:
                shapes.add(_SPOKEN_COPULA.sub("", bare).strip(_MARKUP + _QUOTES))
            found |= {normalize_text(s) for s in shapes}
    return found - {""} or {""}


def _conclusion(text: str) -> Final:
    """The number that an unmarked solution ends in."""
    sentences = _prose(text)
    if not sentences:
        return Final(None, "no final answer was found")
    recent = range(len(sentences) - 1, max(-1, len(sentences) - 6), -1)
    concluding = [i for i in recent if _CONCLUSION.search(sentences[i]) and holds_number(sentences[i])]
    at = concluding[0] if concluding else next((i for i in list(recent)[:3] if holds_number(sentences[i])), None)
    if at is None or any(_GIVES_UP.search(s) for s in sentences[at:]):
        return Final(None, "no final answer was found")
    found = read_amount(sentences[at], last=True)
    if isinstance(found, Unread):
        return Final(None, f"no final answer is marked, and {found.why}")
    back = next((b for s in sentences[at + 1 :] if (b := TAKES_BACK.search(s))), None)
    if back is not None:
        return Final(None, f"the answer {_show(sentences[at])} is taken back ({back[0].strip()!r})")
    number = str(found.value) + ("%" if found.percent else "")
    return Final(number, where="conclusion", amount=found)


def _prose(text: str) -> list[str]:
    """The last sentences of a text, without list numbers and remarks."""
    sentences = []
    for line in text[-4 * MAX_ANSWER :].splitlines():
        item = _LIST_MARK.match(line)
        if item is not None and holds_number(line[item.end() :]):
            line = line[item.end() :]
        if _REMARK.match(line):
            continue
        start = 0
        for end in [*(m.end() for m in SENTENCE_END.finditer(line)), len(line)]:
            if line[start:end].strip(_MARKUP + ".!?。") and not _REMARK.match(line[start:end]):
                sentences.append(line[start:end].strip())
            start = end
    return sentences[-12:]


def _last_line(text: str) -> Final:
    lines = [line.strip(_MARKUP) for line in text[-4 * MAX_ANSWER :].splitlines() if line.strip(_MARKUP)]
    lines = [line for line in lines if not _REMARK.match(line)]
    if not lines:
        return Final(None, "no final answer was found")
    item = _LEAD.match(lines[-1])
    return Final(lines[-1][item.end() if item else 0 :], where="conclusion", spoken=True)


def _show(text: str) -> str:
    return f"{text.strip(_MARKUP)!r:.40}"
