"""The packaged networks: run folders in half precision, each with a model card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import read_json

if TYPE_CHECKING:
    from rnnlens.corpora.protocol import CorpusLike

HERE = Path(__file__).parent
START = "reviews-gru"  # the packaged network that suits few texts


def names() -> list[str]:
    """Names of the packaged networks."""
    return sorted(path.parent.name for path in HERE.glob("*/run.json"))


def packaged(name: str) -> Path:
    """The folder of a packaged run."""
    name = name.removeprefix("zoo:") if isinstance(name, str) else name
    if name not in names():
        raise RnnlensError(f"there is no packaged network {quoted(name)}: expected one of {', '.join(names())}")
    return HERE / name


def holds(path: Path) -> bool:
    """Whether a folder is that of a packaged run."""
    return path.resolve().parent == HERE.resolve()


def find(name: Path | str) -> Path | None:
    """The folder of the packaged run with the name `zoo:NAME`, or NAME alone if no file or folder has that name; None
    for anything else."""
    text = str(name)
    if text.startswith("zoo:"):
        return packaged(text)
    return packaged(text) if text in names() and not Path(name).exists() else None


def suits(name: str, corpus: CorpusLike) -> bool:
    """Whether a packaged network reads in the order of a corpus, and knows most words of its training texts. Words that
    are unknown to the corpus itself count for neither side."""
    vocab = corpus.vocab
    if "reversed" in corpus.about or vocab.counts is None:
        return False
    known = set(read_json(packaged(name) / "vocab.json")["words"])
    counts = {word: int(n) for i, (word, n) in enumerate(zip(vocab.words, vocab.counts, strict=True)) if i != vocab.unk}
    return 2 * sum(n for word, n in counts.items() if word in known) > sum(counts.values())
