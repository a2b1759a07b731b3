"""Words: what a text splits into, and that Python, polars and JavaScript agree on it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens import Vocab
from rnnlens.corpora import PAD
from rnnlens.corpora.words import RULES, WORD, split_column, split_words, well_formed

PAGE = Path(__file__).parents[1] / "src" / "rnnlens" / "page" / "script"

# Letters of scripts newer than Python's own Unicode tables have a lower case in polars and none in Python.
_assigned = st.characters(exclude_categories=("Cn", "Cs"))
_pieces = st.sampled_from(
    ["do n't", " n't ", " 's", "'d 've ", "<br />", "<BR>", "...", "..", "--", "---", "<unk>", "_num_", "''", "``",
     "it’s", "“", "”", "–", "—", "…", "\x85", "\x96", "ΣΑΣ", "İ", "\xad", "\u200d", "👍", "\x00", "\n", "\t", " ", "'"]
)  # fmt: skip
any_text = st.lists(st.one_of(_pieces, st.text(_assigned, max_size=8)), max_size=12).map("".join)


def polars_words(texts: list[str]) -> list[list[str]]:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return frame.select(split_column(pl.col("text")))["text"].to_list()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is NOT bad.", "it is not bad ."),
        ("I don't, can't, WON'T", "i don't , can't , won't"),
        ("do n't ca n't it 's they 're i 've she 'll he 'd i 'm", "don't can't it's they're i've she'll he'd i'm"),
        ("she 'd 've gone, would n't 've", "she'd've gone , wouldn't've"),
        ("is n't", "isn't"),
        ("he said 'sorry' twice", "he said ' sorry ' twice"),
        ("don’t “quote” ‘me’", "don't \" quote \" ' me '"),
        ("``hello'' he wrote", '" hello " he wrote'),
        ("one<br /><br />two<br>three<BR/>four</br>five", "one two three four five"),
        ("wait... what..... no.. yes…", "wait ... what ... no ... yes ..."),
        ("well-made -- or --- not – or — so", "well - made -- or -- not -- or -- so"),
        ("\x93smart\x94 quotes\x85 and \x96 dashes, it\x92s", '" smart " quotes ... and -- dashes , it\'s'),
        ("10/10!!", "10 / 10 ! !"),
        ("_num_ stars, <UNK> food, <unk>", "_num_ stars , <unk> food , <unk>"),
        ("a_b <i>c</i>", "a _ b < i > c < / i >"),
        ("caf\u00e9 na\u00efve \u65e5\u672c", "caf\u00e9 na\u00efve \u65e5\u672c"),
        ("\U0001f44d\U0001f44d good\ufe0f", "\U0001f44d \U0001f44d good"),
        ("res\xadtau\u200drant", "restaurant"),
        ("यह अच्छी नहीं है। बहुत बुरी॥", "यह अच्छी नहीं है । बहुत बुरी ॥"),
        ("جيد، ليس رائعا؟ نعم؛ حسنا۔", "جيد ، ليس رائعا ؟ نعم ؛ حسنا ۔"),
        ("լավ չէ։ ጥሩ ነው። ကောင်းတယ်။ טוב־מאוד", "լավ չէ ։ ጥሩ ነው ። ကောင်းတယ် ။ טוב ־ מאוד"),
        ("a\x00b\u3000c\u2028d\ufeffe", "a b c de"),
        ("", ""),
        (" \n\t ", ""),
    ],
)
def test_a_text_splits_into_these_words_in_python_and_in_polars(text: str, words: str) -> None:
    assert split_words(text) == words.split()
    assert polars_words([text]) == [words.split()]


@settings(deadline=None, max_examples=300)
@given(st.lists(any_text, min_size=1, max_size=8))
def test_polars_and_python_agree_on_any_text(texts: list[str]) -> None:
    assert polars_words(texts) == [split_words(text) for text in texts]


def test_polars_and_python_agree_on_every_character() -> None:
    characters = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    texts = [f"{c} a{c}b {c}Σ" for c in characters]
    theirs = polars_words(texts)
    assert [text for text, words in zip(texts, theirs, strict=True) if words != split_words(text)] == []


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_no_text_crashes_it_and_every_word_is_a_visible_word_of_its_own(text: str) -> None:
    words = split_words(text)
    assert all(word and not re.search(r"\s", word) for word in words)
    assert all(split_words(word) == [word] for word in words if word == word.lower())


def test_lone_surrogates_separate_words_and_pairs_are_joined() -> None:
    assert split_words("a\ud800b") == ["a", "b"]
    assert well_formed("\ud83d\udc4d") == "\U0001f44d"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_javascript_agrees_on_the_same_pattern_and_rules(tmp_path: Path) -> None:
    texts = [
        "It is n't <br /> GOOD... “so—so” it 's 👍👍\x85",
        "ΟΔΥΣΣΕΥΣ\xad ÉTÉ _num_ <unk> ''a'' \x00 İ \ud800x",
        "a\u3000b -- c",
    ]
    shutil.copy(PAGE / "words.js", tmp_path / "words.mjs")  # the page's own
    script = """
    const {word, rules, texts} = JSON.parse(require('fs').readFileSync(0, 'utf8'))
    import(process.argv[1]).then(({splitter}) => console.log(JSON.stringify(texts.map(splitter({word, rules})))))
    """
    given = json.dumps({"word": WORD, "rules": RULES, "texts": texts})
    command = ["node", "-e", script, str(tmp_path / "words.mjs")]
    answer = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == [split_words(text) for text in texts]


def test_a_vocabulary_is_indexed_by_word_and_by_id():
    vocab = Vocab(["<unk>", "not", "good", "nothing"])
    assert vocab["not"] == 1 and vocab[1] == "not" and vocab[np.int64(2)] == "good"
    assert list(vocab) == list(vocab.words) and len(vocab) == 4 and "not" in vocab and "Not" not in vocab
    assert vocab[PAD] == "<pad>" and vocab["<pad>"] == PAD and "<pad>" not in vocab
    assert [vocab[vocab[word]] for word in vocab] == list(vocab)


def test_words_and_ids_that_a_vocabulary_lacks_are_refused():
    vocab = Vocab(["<unk>", "not", "good", "nothing"])
    with pytest.raises(KeyError, match="did you mean 'nothing'"):
        vocab["Nothin"]
    for beyond in (4, -2):
        with pytest.raises(IndexError, match=f"no word has the id {beyond}"):
            vocab[beyond]
