"""Sentences with a human label on every phrase, in the format of the Stanford Sentiment Treebank.

One binary tree per line, `(3 (2 very) (3 good))`: every node has a label from 0 (very negative) to 4 (very positive)
and either one word or two parts. Labels are centered here: −2 … 2, and 0 is neutral.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ordinary import read_ordinary
from rnnlens.common.ranges import in_range

NEUTRAL = 2  # the label that becomes 0
EXAMPLE = "expected one tree a line, such as (3 (2 very) (3 good)), with labels from 0 to 4"
_TOKEN = re.compile(r"[()]|[^ \t\r()]+")  # words of the Treebank can contain a no-break space
_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class Phrase(NamedTuple):
    """Words start … end − 1 of a sentence (numbered from 1), with people's label, −2 … 2."""

    sentence: int
    start: int
    end: int
    label: int


class Pair(NamedTuple):
    """A phrase "w x" whose left part is the single word w, in lower case, and its right part x."""

    word: str
    rest: Phrase
    whole: Phrase


@dataclass(frozen=True, eq=False)
class Trees:
    """Sentences as words (sentence n, from 1 on, is `sentences[n − 1]`), every labeled phrase, and every pair."""

    source: str
    sentences: tuple[tuple[str, ...], ...]
    phrases: tuple[Phrase, ...]
    pairs: tuple[Pair, ...]

    def text(self, phrase: Phrase) -> str:
        """The words of a phrase, with spaces between them."""
        return " ".join(self.sentences[phrase.sentence - 1][phrase.start : phrase.end])


@in_range("folder")
def read_trees(path: Path | str) -> Trees:
    """Read a file of trees. If a line is not a tree, the error names the file and the line."""
    path = Path(path)
    sentences: list[tuple[str, ...]] = []
    phrases: list[Phrase] = []
    pairs: list[Pair] = []
    for number, line in enumerate(read_text(path, "a file of trees").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            words, labeled, modified = _parsed(line, len(sentences) + 1)
        except ValueError as error:
            raise RnnlensError(f"{quoted(str(path))}, line {number}: {error}; {EXAMPLE}") from None
        sentences.append(words)
        phrases += labeled
        pairs += modified
    if not sentences:
        raise RnnlensError(f"{quoted(str(path))} is empty: {EXAMPLE}")
    return Trees(path.name, tuple(sentences), tuple(phrases), tuple(pairs))


def read_text(path: Path, what: str) -> str:
    """The text of a file in UTF-8. what: the expected content, for error messages."""
    try:
        data = read_ordinary(path)
    except OSError as error:
        raise RnnlensError(f"cannot read {quoted(str(path))}: {error.strerror or error}; expected {what}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise RnnlensError(f"{quoted(str(path))}, line {line}: not UTF-8; expected {what} in UTF-8") from error


class _Node:
    """A node whose bracket is still open: its label, its first word, whether it has a word, and its parts."""

    def __init__(self, start: int) -> None:
        self.label: int | None = None
        self.start, self.has_word = start, False
        self.parts: list[Phrase] = []


def _parsed(line: str, sentence: int) -> tuple[tuple[str, ...], list[Phrase], list[Pair]]:
    """The words, phrases and pairs of one tree. Without recursion, so that trees can have any depth."""
    words: list[str] = []
    phrases: list[Phrase] = []
    pairs: list[Pair] = []
    stack: list[_Node] = []
    for token in _TOKEN.findall(line):
        if not stack and (phrases or token != "("):
            raise ValueError(f"{quoted(token, 40)} stands {'after' if phrases else 'before'} the tree")
        if token == "(":
            if stack and (stack[-1].label is None or stack[-1].has_word):
                raise ValueError(f"a part without a label, before word {len(words) + 1}")
            stack.append(_Node(len(words)))
        elif token != ")":
            node = stack[-1]
            if node.label is None:
                node.label = _label(token)
            elif node.has_word or node.parts:
                raise ValueError(f"the word {quoted(token, 40)} has no node of its own")
            else:
                node.has_word = True
                words.append(_WRITTEN.get(token, token).replace("\\/", "/").replace("\\*", "*"))
        else:
            node = stack.pop()
            if node.label is None:
                raise ValueError("a part has no label")
            if not node.has_word and len(node.parts) != 2:
                raise ValueError(f"a part holds {len(node.parts)} parts: a node has one word or two parts")
            phrase = Phrase(sentence, node.start, len(words), node.label)
            phrases.append(phrase)
            if node.parts and node.parts[0].end - node.parts[0].start == 1:
                pairs.append(Pair(words[node.start].lower(), node.parts[1], phrase))
            if stack:
                stack[-1].parts.append(phrase)
    if stack:
        raise ValueError(f"{len(stack)} brackets are not closed")
    return tuple(words), phrases, pairs


def _label(token: str) -> int:
    if token in ("0", "1", "2", "3", "4"):
        return int(token) - NEUTRAL
    if re.fullmatch(r"[+-]?\d+(\.\d*)?", token):
        raise ValueError(f"the label {quoted(token, 40)} is not one of 0, 1, 2, 3, 4")
    raise ValueError(f"{quoted(token, 40)} stands where a label should be")
