r"""Text → words: one pattern and a few rules, which Python, polars (Rust) and the page (JavaScript) share.

A text is lower-cased, a space is added at its end, the `RULES` are applied in order (each replaces every match), and
its words are the matches of `WORD`. The patterns use only what the three engines have in common: no look-around, no
`\w`, `\s` or `\b`, no references, characters by number; JavaScript needs the flags `gu` and `toWellFormed()`. For a
vocabulary with capitals only the matches of `LOWERED` are lower-cased: what the rules and `WORD` spell out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rnnlens.common.options import TEXT

if TYPE_CHECKING:
    import polars as pl

# Separators of words: white space, control characters, invisible marks, the replacement character.
_SPACE = r"\x00-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff\ufff9-\uffff"

# Single characters that are words of their own: ASCII and Latin-1 punctuation; what ends or parts sentences in Greek,
# Armenian, Hebrew, Arabic, Indic scripts, Burmese, Amharic and Khmer; general, CJK and full-width punctuation, symbols,
# emoji (written as themselves: the three engines spell numbers above ffff differently).
_MARK = (
    r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\xa1-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    r"\u037e\u0387\u055d\u0589\u058a\u05be\u05c0\u05c3\u060c\u060d\u061b\u061d-\u061f\u066a-\u066d\u06d4"
    r"\u0964\u0965\u104a\u104b\u1361-\u1368\u17d4-\u17d6"
    r"\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff\u3001-\u3003\u3008-\u3020\u30fb"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\U0001f000-\U0001faff"
)
_LETTER = f"[^{_SPACE}{_MARK}]"

# Words with inner apostrophes (don't, rock'n'roll); placeholders of corpora; runs of dots and of dashes; any other mark
# alone.
WORD = rf"{_LETTER}+(?:'{_LETTER}+)*|<unk>|<pad>|_num_|\.+|-+|[^{_SPACE}]"

RULES: tuple[tuple[str, str], ...] = (
    (r"</?br */?>", " "),
    (r"\u03c2", "\u03c3"),  # final sigma: versions of the engines differ on where a word ends
    (r"[\xad\u200c-\u200f\u2060\ufe0f\ufeff]", ""),  # soft hyphens, joiners: invisible inside a word
    # Curly, Penn Treebank and doubled quotes; \x80-\x9f are Windows-1252 read as Latin-1, as thousands in IMDB are.
    (r"``|''|[\u201c-\u201f\u2033\xab\xbb\x84\x93\x94]", '"'),
    (r"[\u2018-\u201b\u2032\u02bc\uff07\xb4`\x91\x92]", "'"),
    (r"[\u2026\x85]", "..."),
    (r"\.\.+", "..."),
    (r"[\u2010\u2011]", "-"),
    (r"[\u2012-\u2015\u2212\x96\x97]", "--"),
    (r"--+", "--"),
    # Penn Treebank splits, rejoined: do n't, she 'd 've. Literals one by one are faster than one alternation.
    (" n't ", "n't "),
    (" 'm ", "'m "),
    (" 'd ", "'d "),
    (" 'll ", "'ll "),
    (" 're ", "'re "),
    (" 've ", "'ve "),
    (" 's ", "'s "),
)

LOWERED = (
    r"</?[Bb][Rr] */?>|<[Uu][Nn][Kk]>|<[Pp][Aa][Dd]>|_[Nn][Uu][Mm]_"
    r"| [Nn]'[Tt] | '[Mm] | '[Dd] | '[Ll][Ll] | '[Rr][Ee] | '[Vv][Ee] | '[Ss] "
)

_WORD, _LOWERED = re.compile(WORD), re.compile(LOWERED)
REWRITTEN = re.compile("|".join(pattern for pattern, _ in RULES if not pattern.startswith(" ")))  # in a single word
_RULES = tuple((re.compile(pattern), replacement) for pattern, replacement in RULES)


def split_words(text: str, cased: bool = False) -> list[str]:
    """The words of one text; `cased` keeps capitals.

    >>> split_words("It isn't <br /> GOOD... it 's   well-made!")
    ['it', "isn't", 'good', '...', "it's", 'well', '-', 'made', '!']
    """
    text = well_formed(TEXT.check("text", text)) + " "
    text = _LOWERED.sub(lambda match: match[0].lower(), text) if cased else text.lower()
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _WORD.findall(text)


def spelled(word: str) -> str:
    """A word of somebody's list as it is read in a text: in lower case, with a straight apostrophe. Several words stay
    as they are, in lower case."""
    found = split_words(word)
    return found[0] if len(found) == 1 else word.lower()


def split_column(texts: pl.Expr) -> pl.Expr:
    """The words of a column of texts, as a column of lists: `split_words` as a polars expression."""
    import polars as pl

    texts = pl.concat_str(texts.str.to_lowercase(), pl.lit(" "))
    for pattern, replacement in RULES:
        texts = texts.str.replace_all(pattern, replacement)
    return texts.str.extract_all(WORD)


def well_formed(text: str) -> str:
    """`text` with lone surrogates, which no file can hold, as U+FFFD (a separator); the rest is unchanged."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
