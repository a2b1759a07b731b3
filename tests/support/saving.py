"""Corpora that are in memory, as the files of a prepared one, which are memory-mapped."""

from rnnlens.common import files
from rnnlens.corpora.reading import arrays_of
from rnnlens.corpora.saving import write_about, write_npy


def save_corpus(corpus, folder, key):
    """Write a corpus into a folder; `key` identifies the settings that it was made from."""
    files.write_json(folder / "vocab.json", {"words": corpus.vocab.words, "counts": corpus.vocab.counts})
    for part, split in corpus.splits.items():
        for name in arrays_of(corpus.about):
            array = getattr(split, name)
            write_npy(folder / f"{part}.{name}.npy", array.dtype, len(array), [array])
    write_about(folder, corpus.vocab, list(corpus.splits), {"key": key, "about": dict(corpus.about)})
