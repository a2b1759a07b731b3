"""The vocabulary of a subword tokenizer: pieces of words, their spelling, and the words that they make up.

Tokenizers mark where words begin (`Ġnot` of byte-level BPE, `▁not` of SentencePiece) or where they go on (`##ing` of
WordPiece). Here all are spelled in one way: a piece that begins a word as it is, `not`, one that goes on as `##ing`. So
the words of results are words, and every piece has a spelling of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import category

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.vocab import PAD, PAD_WORD, Vocab

GOES_ON = "##"
BYTE_SPACE, PIECE_SPACE = "Ġ", "▁"
CLOSING = frozenset(".,;:!?…)]}%’'\"")  # marks that are written without a space before them


class PieceVocab(Vocab):
    """The pieces of a tokenizer as a vocabulary: `words[i]` is the spelling of the piece with id i.

    Of the tokenizer only `get_vocab()`, a dict {piece: id}, and `tokenize(text)`, a list of pieces, are used. `split`
    gives the pieces of a text, in the tokenizer's own way; `joined` puts pieces together into words. Words are read as
    after a space, also the first one of a text, so that a word is the same piece at every place.
    """

    def __init__(self, tokenizer: Any, rows: int | None = None, counts: Sequence[int] | np.ndarray | None = None):
        """rows: of the embedding, which may have more rows than the tokenizer has pieces, but not fewer."""
        self.tokenizer = tokenizer
        self.ids_of_pieces = _checked(tokenizer, rows)
        pieces = list(self.ids_of_pieces)
        self.marker = next((mark for mark in (BYTE_SPACE, PIECE_SPACE) if any(p.startswith(mark) for p in pieces)), "")
        if not self.marker and not any(p.startswith(GOES_ON) for p in pieces):
            self.marker = None  # type: ignore[assignment]  # every piece is a word
        super().__init__(_spelled(self.ids_of_pieces, self.marker), counts)

    def with_counts(self, counts: np.ndarray) -> PieceVocab:
        """The same pieces with the number of times that each was seen in training."""
        return PieceVocab(self.tokenizer, len(self), counts)

    def split(self, text: str) -> list[str]:
        """The pieces of a text as this vocabulary spells them; `<pad>` is a blank input."""
        found = []
        for number, part in enumerate(text.split(PAD_WORD)):
            found += [PAD_WORD] * (number > 0)
            found += [self.words[i] if i != PAD else PAD_WORD for i in self._ids(part)]
        return found

    def pieces(self, word: str) -> list[str]:
        """The pieces of one word, or of what is already a piece."""
        return [word] if word in self or word == PAD_WORD else list(self._pieces(word))

    @cached_property
    def _pieces(self) -> Any:
        def pieces(word: str) -> tuple[str, ...]:
            ids = self._ids(word, before=not all(letter in CLOSING for letter in word))
            return tuple(self.words[i] if i != PAD else PAD_WORD for i in ids)

        return lru_cache(100_000)(pieces)

    def _ids(self, text: str, before: bool = True) -> list[int]:
        """Ids of a text. before: whether it is read as after a space."""
        if not text.strip():
            return []
        given = f" {text.strip()}" if before and self.marker == BYTE_SPACE else text.strip()
        pieces = list(self.tokenizer.tokenize(given))
        if self.marker == PIECE_SPACE and not before and pieces:
            first = pieces[0].removeprefix(PIECE_SPACE)
            pieces[:1] = [first] if first in self.ids_of_pieces else [] if not first else pieces[:1]
        return [self.ids_of_pieces.get(piece, self.unk) for piece in pieces]

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that have no pieces, or an unknown one."""
        unk = {PAD_WORD} if self.unk == PAD else {self.words[self.unk]}
        return [word for word in words if word not in self and word != PAD_WORD and unk & set(self.pieces(word) or unk)]

    def encode(self, text: str | Sequence[str]) -> np.ndarray:
        """Ids (T,) of the pieces of a text, or of a list of pieces; a word that is no piece is unknown."""
        return super().encode(self.split(text) if isinstance(text, str) else text)

    def pieces_of(self, other: Vocab) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the pieces of each word of another vocabulary, one word after the other, and where each word
        begins, (W_other + 1,). `<unk>` is unknown here too, and a word without pieces is a blank input."""
        rows = [self.encode(self.pieces(word)) for word in other.words]
        rows = [row if len(row) else np.array([PAD]) for row in rows]
        if other.unk != PAD:
            rows[other.unk] = np.array([self.unk])
        return np.concatenate(rows), np.cumsum([0, *map(len, rows)])

    def joined(self, pieces: Sequence[str]) -> list[tuple[str, int]]:
        """The words that pieces make up, each with the place of its last piece. A mark is a word of its own, and so is
        white space that is a piece."""
        found: list[tuple[str, int]] = []
        before = False  # whether the last piece was of a word
        for characters, place in self._characters(pieces):
            goes_on = self._goes_on(characters[0])
            text, is_word = self._text(characters)
            if goes_on and is_word and before:
                found[-1] = (found[-1][0] + text, place)
            else:
                found.append((text, place))
            before = is_word
        return found

    def _characters(self, pieces: Sequence[str]) -> Iterator[tuple[list[str], int]]:
        """Pieces, and the place of each; byte-level ones that share a character, such as an emoji, are together."""
        begun: list[str] = []
        for place, piece in enumerate(pieces):
            begun.append(piece)
            goes_on = place + 1 < len(pieces) and self._goes_on(pieces[place + 1])
            if not (goes_on and self.marker == BYTE_SPACE and _is_cut(self._written_by_tokenizer(begun))):
                yield begun, place
                begun = []

    def _text(self, pieces: Sequence[str]) -> tuple[str, bool]:
        """The text of pieces that are one, and whether it is of a word."""
        goes_on = self._goes_on(pieces[0])
        if self.marker != BYTE_SPACE:
            text = pieces[0].removeprefix(GOES_ON) if goes_on else pieces[0]
            return text, _is_word(text)
        written = self._written_by_tokenizer(pieces)
        written = written if goes_on else written.removeprefix(BYTE_SPACE)
        read = _visible(written)
        return (written, False) if read is None else (read, _is_word(read))

    def _goes_on(self, piece: str) -> bool:
        """Whether a piece goes on with a word."""
        return piece.startswith(GOES_ON) and len(piece) > len(GOES_ON) and self.marker is not None

    def _written_by_tokenizer(self, pieces: Sequence[str]) -> str:
        return "".join(self._unspelled.get(piece, piece) for piece in pieces)

    @cached_property
    def _unspelled(self) -> dict[str, str]:
        """Each piece as the tokenizer writes it, by its spelling."""
        return {self.words[i]: piece for piece, i in self.ids_of_pieces.items()}

    def begins(self) -> np.ndarray:
        """Whether each piece (W,) begins a word, rather than going on with one, being a special one, or ending within a
        character."""
        cut = [self.marker == BYTE_SPACE and _is_cut(self._written_by_tokenizer([word])[1:]) for word in self.words]
        return ~np.array(cut) & [not word.startswith(GOES_ON) and not _is_special(word) for word in self.words]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocab) and self.words == other.words

    __hash__ = Vocab.__hash__


def _checked(tokenizer: Any, rows: int | None) -> dict[str, int]:
    """The ids of a tokenizer's pieces, in the order of the ids."""
    for method in ("get_vocab", "tokenize"):
        if not callable(getattr(tokenizer, method, None)):
            raise RnnlensError(
                f"the tokenizer is {quoted(type(tokenizer).__name__)}, which has no {method}: expected a tokenizer "
                "with get_vocab() and tokenize(text), such as AutoTokenizer.from_pretrained(name)"
            )
    ids = tokenizer.get_vocab()
    last = max(ids, key=ids.__getitem__)
    if rows is not None and ids[last] >= rows:
        raise RnnlensError(
            f"the tokenizer does not fit the model: its piece {quoted(last)} has id {ids[last]}, and the model embeds "
            f"{rows} pieces; pass the tokenizer that the model was trained with"
        )
    return dict(sorted(ids.items(), key=lambda pair: pair[1]))


def _spelled(ids: dict[str, int], marker: str | None) -> list[str]:
    """The spelling of every id up to the largest one; ids that no piece has are spelled `<unused 7>`."""
    words = [f"<unused {i}>" for i in range(max(ids.values()) + 1)]
    taken: set[str] = set()
    for piece, i in ids.items():
        word = spelling(piece, marker)
        words[i] = piece if word in taken or word == PAD_WORD else word
        words[i] = f"<piece {i}>" if words[i] in taken else words[i]
        taken.add(words[i])
    return words


def spelling(piece: str, marker: str | None) -> str:
    """A piece as `PieceVocab` spells it. marker: `Ġ` or `▁`, which begins words; empty if `##` goes on with them; None
    if every piece is a word.

    >>> spelling("Ġnot", "Ġ"), spelling("ing", "Ġ"), spelling("▁not", "▁"), spelling("##ing", "")
    ('not', '##ing', 'not', '##ing')
    """
    if not marker or _is_special(piece):
        return piece
    begins = piece.startswith(marker) and len(piece) > len(marker)
    text = piece[len(marker) :] if begins else piece
    text = _from_bytes(text) if marker == BYTE_SPACE else text
    return text if begins else GOES_ON + text


@lru_cache(1)
def _bytes() -> dict[str, int]:
    """The characters that byte-level BPE writes for bytes: printable ones as they are, the others from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def _from_bytes(text: str) -> str:
    """The text that byte-level characters stand for; as it is, if it is no whole text or has invisible characters."""
    read = _visible(text)
    return text if read is None else read


def _visible(written: str) -> str | None:
    """The text that byte-level characters stand for; None if it is no whole text or has invisible characters."""
    try:
        read = bytes(_bytes()[letter] for letter in written).decode()
    except (KeyError, UnicodeDecodeError):
        return None
    return read if read.isprintable() and not read[:1].isspace() else None


def _is_cut(written: str) -> bool:
    """Whether byte-level characters end within a character of the text that they stand for."""
    try:
        bytes(_bytes()[letter] for letter in written).decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    except KeyError:
        pass
    return False


def _is_word(text: str) -> bool:
    """Whether a text has letters, vowel signs or digits, or is a single apostrophe inside a word."""
    return any(letter.isalnum() or category(letter)[0] == "M" for letter in text) or text in ("'", "’")


def _is_special(piece: str) -> bool:
    """Whether a piece is none of text, such as `<|endoftext|>` or `[PAD]`."""
    return len(piece) > 2 and piece[0] in "<[" and piece[-1] in ">]"
