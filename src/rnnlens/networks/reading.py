"""Texts through a network: the logit after each word, and predictions as scikit-learn's classifiers give them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.errors import Diverged, RnnlensError, RnnlensWarning, quoted
from rnnlens.common.ranges import check_numbers, in_range
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.corpora.texts import list_of_texts
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.networks.parallel import batch_of, in_parallel
from rnnlens.networks.readouts import HasClasses

Reading = list[tuple[str, float]]  # words, each with the logit after it
TEXTS_A_BATCH = 64  # of similar length, so that little padding is computed
WORDS = 2**16  # padded words in a batch, of which all states are in memory


class ReadsTexts(HasClasses):
    """The methods of a `Network` that take texts. They need its vocabulary, its initial state and `logits`."""

    vocab: Vocab | None
    h0: Tensor
    direction: str = ""
    """`backwards` for a network that reads texts from their last word to their first: the backward reader of a network
    that reads both ways, or one that was trained on reversed texts. Texts are reversed for it; words and ids are taken
    in the order in which it reads them. The forward reader of two has `forwards`, other networks an empty text."""

    @property
    def backward(self) -> bool:
        """Whether it reads texts from their last word to their first."""
        return self.direction == "backwards"

    def logits(self, ids: Tensor) -> Tensor:
        raise NotImplementedError

    def check_finite(self, where: str = "the network") -> None:
        raise NotImplementedError

    # --- the logit after each word ---

    def read(self, text: Any = None, *, words: Sequence[str] | None = None) -> Any:
        """The words of a text, each with the logit after it: `network.read("not bad at all")`.

        A list or tuple of texts gives a list of readings, one for each text. Words that are already split are passed as
        `network.read(words=["not", "bad"])` and taken as they are. `<pad>` is a blank input. A warning is given
        if the network does not know most of the words. A network that reads backward gets the text from its last word
        to its first, and gives the words in this order. A network with several classes gives probabilities instead of a
        logit, as a dict by class."""
        vocab = self._words_known("read")
        if (text is None) == (words is None):
            given = "of type NoneType" if text is None else "given together with words"
            raise RnnlensError(f"the text is {given}: expected text, a list of texts, or words=[…], one of them")
        if words is not None:
            return self._read_one(_split_words(words), words)
        if isinstance(text, str):
            return self._read_one(self.in_order(vocab.split(text)), text)
        if not isinstance(text, Iterable) or isinstance(text, bytes | Set | Mapping | Tensor):
            raise RnnlensError(f"the text is of type {type(text).__name__}: expected text, or a list of texts{_SPLIT}")
        readings = []
        for each in list_of_texts(text, _SPLIT):  # a loop, so that warnings name the line that calls `read`
            readings.append(self._read_one(self.in_order(vocab.split(each)), each))
        return readings

    def _read_one(self, words: list[str], text: object) -> Reading:
        """Read words. `text` is what was given, for messages."""
        vocab = self._words_known("read")
        if not words:
            raise RnnlensError(f"no word in {quoted(text)}: expected some text")
        unknown = vocab.unknown(words)
        if 2 * len(unknown) > len(words):
            few = f"{len(unknown)} of the {len(words)} words of {quoted(text)} are unknown to this network, such as "
            one = f"the one word of {quoted(text)} is unknown to this network, "
            warnings.warn(
                f"{one if len(words) == 1 else few}{quoted(unknown[0])}: its reading is unreliable",
                RnnlensWarning,
                stacklevel=3,  # the line that calls `read`
            )
        return self.read_words(words)

    @torch.no_grad()
    @in_range("words")
    def read_words(self, words: Sequence[str]) -> Reading:
        """Words as the vocabulary spells them, each with the logit after it; without a warning of unknown ones. Pieces
        of a subword tokenizer are put together into words, each with the logit after its last piece."""
        words, ids, last = self.word_ids(words)
        self._check_numbers()
        logits = self.logits(ids.unsqueeze(0))[0, 1:][last]
        if not bool(logits.isfinite().all()):
            raise self._overflow(" ".join(words))
        if self.several_classes:
            shares = logits.double().softmax(-1).tolist()
            by_class = [dict(zip(self.classes, row, strict=True)) for row in shares]
            return list(zip(words, by_class, strict=True))  # type: ignore[arg-type]  # no logits
        return list(zip(words, logits.tolist(), strict=True))

    def word_ids(self, words: Sequence[str]) -> tuple[list[str], Tensor, Tensor]:
        """The words that are read (n,), the ids of their pieces (T,), and the place of the last piece of each word. A
        word is its own piece, unless the vocabulary is that of a subword tokenizer."""
        vocab, device = self._words_known("read_words"), self.h0.device
        if not isinstance(vocab, PieceVocab):
            ids = torch.as_tensor(vocab.encode(words), device=device)
            return list(words), ids, torch.arange(len(ids), device=device)
        pieces = [piece for word in words for piece in vocab.pieces(word)]
        joined = vocab.joined(pieces)
        last = torch.as_tensor([place for _, place in joined], dtype=torch.long, device=device)
        return [word for word, _ in joined], torch.as_tensor(vocab.encode(pieces), device=device), last

    # --- predictions ---

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """Probabilities (n, 2) of negative and positive, or (n, C) of C classes, as scikit-learn's classifiers return
        them.

        texts: a list of texts, a tuple, an array or a column of a table. One text alone is refused: pass `[text]`. A
        text without words is read as the initial state."""
        logits = self._final_logits(list_of_texts(texts)).double()
        if self.several_classes:
            return logits.softmax(1).numpy()
        return torch.stack([(-logits).sigmoid(), logits.sigmoid()], 1).numpy()

    def predict(self, texts: Iterable[str]) -> np.ndarray:
        """Labels (n,): 1 where the final logit is above 0, else 0; if the classes have names, the name of the most
        probable one. texts: as for `predict_proba`."""
        logits = self._final_logits(list_of_texts(texts))
        labels = (logits.argmax(1) if self.several_classes else (logits > 0).long()).numpy()
        return np.array(self.classes)[labels] if self.classes else labels

    @torch.no_grad()
    def _final_logits(self, texts: list[str]) -> Tensor:
        """Final logits (n,) or (n, C), on the CPU."""
        vocab = self._words_known("predict")
        self._check_numbers()
        rows = [self.in_order(vocab.encode(text)) for text in texts]
        batches = token_batches(np.array([len(row) for row in rows], int), *batch_of(self, WORDS, TEXTS_A_BATCH))
        shape = (len(rows), len(self.classes)) if self.several_classes else (len(rows),)
        logits = torch.zeros(shape, dtype=self.h0.dtype)

        def read(batch: np.ndarray) -> None:
            logits[torch.from_numpy(batch)] = self._last_logits([rows[i] for i in batch]).cpu()

        in_parallel(read, batches, self)
        if not bool(logits.isfinite().all()):
            raise self._overflow(texts[int((~logits.isfinite()).nonzero()[0, 0])])
        return logits

    def _logits_of_texts(self, given: str | Sequence[str], lengths: object) -> Tensor:
        """Final logits, () of one text and (B,) of several (C and (B, C) of C classes), with their gradients."""
        vocab = self._words_known("network(text)")
        if lengths is not None:
            raise RnnlensError(
                "lengths were given together with texts: expected texts alone, or ids with their lengths"
            )
        texts = [given] if isinstance(given, str) else list_of_texts(given)
        logits = self._last_logits([self.in_order(vocab.encode(text)) for text in texts])
        return logits[0] if isinstance(given, str) else logits

    def _last_logits(self, rows: Sequence[np.ndarray]) -> Tensor:
        """Final logits (B,), or (B, C) of C classes, of rows of ids, in one batch."""
        read: Any = self
        return read(*_padded(rows, self.h0.device))

    def in_order(self, words: Any) -> Any:
        """The words of a text in the order in which the network reads them."""
        return words[::-1] if self.backward else words

    # --- checks ---

    def _words_known(self, method: str) -> Vocab:
        if self.vocab is None:
            raise RnnlensError(f"this network has no words: `{method}` needs a vocabulary; use `states` for its inputs")
        return self.vocab

    def _check_numbers(self) -> None:
        check_numbers(self.h0)

    def _overflow(self, text: str) -> Diverged:
        self.check_finite()
        return Diverged(
            f"the logits of {quoted(text)} are not finite: the network's weights are so large that they overflow"
        )


_SPLIT = "; for words that are already split use read(words=[…]), for ids network.logits"


def is_text(given: object) -> TypeGuard[str | Sequence[str]]:
    """Whether the input is a text, or a list or tuple that begins with one."""
    return isinstance(given, str) or (isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], str))


def _padded(rows: Sequence[np.ndarray], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows of ids as one batch (B, T), and their lengths (B,)."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((len(rows), max(1, lengths.max(initial=0))), PAD, dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return torch.as_tensor(ids, device=device), torch.as_tensor(lengths, device=device)


def _split_words(words: Any) -> list[str]:
    """Words that are already split, checked."""
    if not isinstance(words, Iterable) or isinstance(words, str | bytes | Set | Mapping | Tensor):
        raise RnnlensError(
            f"words are of type {type(words).__name__}: expected a list of words; for text use read(text)"
        )
    words = list(words)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise RnnlensError(
            f"the words hold {quoted(wrong[0])} of type {type(wrong[0]).__name__}: expected a list of words; for ids "
            "use network.logits"
        )
    return words
