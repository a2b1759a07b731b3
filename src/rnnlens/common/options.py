"""The table of allowed values: command, record or function → option → kind. `ranges` checks them.

This module imports nothing heavy: the command line reads it before anything else.
"""

from __future__ import annotations

from dataclasses import replace

from rnnlens.common.allowed import Allowed, Each, Either, Flag, Instance, PathLike, Range, Text, Words, one_of, whole

WIDEST = 2**16  # units of a network, components of an embedding: torch cannot address much larger products
THREADS = 1024  # more can crash the process
MOST_COMPONENTS = 10  # of a modifier subspace whose rank is not given
SAMPLED = 10**8  # documents of an artificial language

COUNT, FROM_ZERO, OPTIONAL_COUNT = whole(1), whole(0), whole(1, none=True)
SEED = Range("a whole number, from 0 to 2^63 - 1", 0, 2**63 - 1, whole=True)
ABOVE_ZERO = Range("a number above 0", 0, above=True)
AT_LEAST_ZERO = Range("a number, at least 0", 0)
SHARE = Range("a share from 0 to 1", 0, 1)
BELOW_ONE = Range("a share from 0 to below 1", 0, 1, below=True)
STUDIED = whole(2, WIDEST)  # units of a network that is analyzed: modifiers move its state off a line
STARTS = whole(1, 10**6)  # states that a search for slow points begins at
SNAPSHOTS = whole(2, 1000, none=True)  # of a training; the first is before it, the last at its end
SOURCE_WEIGHT = Range("a number above 0, from 1e-6 to 1e6", 1e-6, 1e6)
FLAG, OPTIONAL_FLAG = Flag("True or False"), Flag("True, False or None", none=True)
TEXT, OPTIONAL_TEXT = Text("a text"), Text("a text, or None", none=True)
WORDS, NAMES = Words("a list of words"), Words("a list of names")
NAME = Text("a text that is not empty, or None", none=True, filled=True)
COLUMN = Text("the name of a column", none=True)
_PATH = "a path: text or pathlib.Path, not empty, with names of at most 255 bytes"
PATH, OPTIONAL_PATH = PathLike(_PATH), PathLike(_PATH, none=True)
FOLDER, OPTIONAL_FOLDER = PathLike(_PATH, folder=True), PathLike(_PATH, folder=True, none=True)
RUN = PathLike("a run folder, or a packaged network such as zoo:reviews-gru")
SOURCE = PathLike("the name of a source: a prepared corpus, a file, a folder, or hf:owner/name", kept=True)
ARCH = one_of("gru", "lstm", "ugrnn", "vanilla", "mingru", "minlstm", "mamba", "rglru")
DIRECTION, OPTIONAL_DIRECTION = one_of("forwards", "backwards"), one_of("forwards", "backwards", none=True)
DEVICE = replace(one_of("cpu", "cuda", none=True), what="cpu or cuda (CUDA_VISIBLE_DEVICES picks which one)")
ENGINE = one_of("local", "ray")
REMOVAL = one_of("biorthogonal", "orthogonal")
POOLING = replace(one_of("mean", none=True), what="'mean', or None to read the last state")
FORMAT = one_of("svg", "pdf", "png", "html")
FUNCTION = Instance("a function", ("__call__",))
FIGURE = Instance("a Plotly figure, such as figures.barcodes(run)", ("write_html",))
MEASURE = one_of("strength", "norm")
ANYTHING = Allowed("anything", none=True)  # the function itself checks it
CORPUS = Instance(
    "a corpus, such as rnnlens.load_corpus(FOLDER); texts with their labels come in through "
    "rnnlens.Corpus.from_texts(texts, labels)",
    ("vocab", "train"),
    lacks="h0",
)
GAIN = Range("a number from 0 to 10; 1 changes nothing", 0, 10)
GAINS = Each("a list of gains, from 0 to 10, with 1 among them", GAIN, includes=1)
MODES = Instance("modes, such as linear_modes(network, h)", ("eigenvalues", "units"))
SPLIT = Instance("a split of a corpus, such as corpus.test", ("labels", "lengths", "batch"))
DOCUMENTS = Either("a corpus, or a split such as corpus.test", (CORPUS, SPLIT))
TOY = Instance("a ToyLanguage", ("valences", "sample"))
MAPPING = Instance("a dict, by word", ("items", "keys"))
VALENCE = Range("a number from -1e6 to 1e6", -1e6, 1e6)
VOCAB = Instance("a Vocab, such as corpus.vocab or rnnlens.Vocab(words)", ("words", "encode"))
STARTED = Instance("a run to start from, such as rnnlens.load(FOLDER)", ("network", "vocab", "provenance"))
SUBSPACE = Instance("a subspace, such as analysis.subspace", ("components", "h_star"))
SUBSPACES = Each("a list of subspaces, such as [analysis.subspace]", SUBSPACE, empty=True)
TREES = Instance("trees, such as rnnlens.analysis.trees.read_trees(FILE)", ("pairs", "source"))
REVIEWS = Instance("reviews, such as rnnlens.context.Reviews.to_read(split, network)", ("labels", "batches"))

OBJECTS: dict[str, Allowed] = {  # arguments with one meaning in all functions
    "network": Instance("a network, such as rnnlens.load(FOLDER).network", ("h0",)),
    "line": Instance("a line, such as analysis.line or fit_line_attractor(network, points)", ("h_star", "nearest")),
    "probes": Instance("probe words, such as rnnlens.Probes(positive, negative)", ("words", "inputs")),
    "modifiers": Instance("a table of words, such as find_modifiers(network, line)", ("words", "strength")),
    "subspace": SUBSPACE,
    "word": TEXT,
    "progress": FLAG,
    "device": DEVICE,
}

SHAPE = {  # of a network before training
    "arch": ARCH,
    "hidden": whole(1, WIDEST),
    "embedding": whole(1, WIDEST),
    "scale": Range("a number above 0, at most 1e6", 0, 1e6, above=True),
    "memory": Range("a number of words, at least 1, or 0 for none", 1, 1e12, zero=True),
    "layers": whole(1, 1000),
    "convolution": whole(1, 1000, none=True),
    "both_ways": FLAG,
    "ordered": FLAG,
    "seed": SEED,
}
TRAINING = {  # the fields of TrainConfig
    "epochs": COUNT,
    "steps": FROM_ZERO,
    "batch": COUNT,
    "learning_rate": ABOVE_ZERO,
    "schedule": one_of("cosine", "linear", "exponential", "constant"),
    "warmup": SHARE,
    "final_rate": SHARE,
    "momentum": BELOW_ONE,
    "second_momentum": BELOW_ONE,
    "word_epsilon": ABOVE_ZERO,
    "sparsity": AT_LEAST_ZERO,
    "weight_decay": AT_LEAST_ZERO,
    "decoupled": FLAG,
    "clip": AT_LEAST_ZERO,
    "word_dropout": BELOW_ONE,
    "dropout_run": Range("a number, at least 1", 1),
    "embedding_dropout": BELOW_ONE,
    "blanks": whole(0, 10_000),
    "average": BELOW_ONE,
    "max_words": OPTIONAL_COUNT,
    "balance": FLAG,
    "keep": one_of("best", "last"),
    "patience": FROM_ZERO,
    "precision": one_of("fp32", "bf16"),
    "next_word": AT_LEAST_ZERO,
    "next_word_places": COUNT,
    "checkpoint_every": FROM_ZERO,
    "seed": SEED,
}
RUNNING = {"out": FOLDER, "resume": FLAG, "test": FLAG, "threads": whole(1, THREADS, none=True), "device": DEVICE}
SEVERAL = {  # models, trained beside each other; 0 jobs: in this process
    "jobs": whole(0, THREADS),
    "seeds": whole(1, 10_000),
    "most": COUNT,
    "out": FOLDER,
    "settings": OPTIONAL_PATH,
    "modifiers": Each("a list of words", Either("a word, or a file", (TEXT, PATH)), none=True),
    "engine": ENGINE,
    "device": DEVICE,
}

RANGES: dict[str, dict[str, Allowed]] = {
    "prepare": {
        "vocab_size": whole(2),
        "min_count": COUNT,
        "max_words": OPTIONAL_COUNT,
        "validation": BELOW_ONE,
        "test": BELOW_ONE,
        "seed": SEED,
        "text": COLUMN,
        "label": COLUMN,
        "limit": whole(2, none=True),
        "group": Either("the name of a column, a whole number, at least 1, or None", (COLUMN, COUNT), none=True),
        "graded": OPTIONAL_FLAG,
        "targets": Each("two numbers above 0.5, at most 1", Range("a number from 0.5 to 1", 0.5, 1)),
        "classes": FLAG,
        "ordered": FLAG,
        "reverse": FLAG,
        "out": FOLDER,
        "overwrite": FLAG,
        "progress": replace(FUNCTION, what="a function of the rows read and the total, or None", none=True),
    },
    "network": SHAPE,
    "training": TRAINING,
    "train": {**SHAPE, **TRAINING, **RUNNING, "snapshots": SNAPSHOTS},
    "train_network": {**RUNNING, "snapshots": SNAPSHOTS, "start": STARTED},
    "demo": {"seed": SEED, "out": FOLDER},
    "analyze": {
        "top": COUNT,
        "rank": whole(1, MOST_COMPONENTS),
        "starts": replace(STARTS, none=True),
        "reviews": OPTIONAL_COUNT,
        "seed": SEED,
        "accuracy": FLAG,
        "overwrite": FLAG,
        "class_": OPTIONAL_TEXT,
        "direction": OPTIONAL_DIRECTION,
        "table": OPTIONAL_PATH,
    },
    "probe": {"figure": OPTIONAL_PATH, "class_": OPTIONAL_TEXT},
    "project_out": {"subspace": ANYTHING},
    "steer": {"gain": GAIN, "subspace": ANYTHING},
    "audit": {"worst": COUNT, "seed": SEED},
    "agree": {
        "trees": Either("a file of trees, or trees such as read_trees(FILE)", (PATH, TREES)),
        "top": COUNT,
        "seed": SEED,
        "figure": OPTIONAL_PATH,
        "advance": replace(FUNCTION, what="a function of the steps done and a text, or None", none=True),
    },
    "report": {"words": whole(0, none=True), "out": OPTIONAL_PATH},
    "figures": {"out": OPTIONAL_FOLDER, "format": FORMAT},
    "write_figures": {"out": FOLDER, "format": FORMAT, "report": FUNCTION},
    "export": {"to": FOLDER, "name": NAME, "license": TEXT, "dataset": OPTIONAL_TEXT, "overwrite": FLAG},
    "baselines": {**SEVERAL, "seed": SEED, "refit": FLAG, "test": FLAG},
    "estimator": {
        **TRAINING,
        "epochs": OPTIONAL_COUNT,
        "decay": Range("a share above 0, at most 1", 0, 1, above=True),
        "l1": AT_LEAST_ZERO,
        "l2": AT_LEAST_ZERO,
        "vocab_size": whole(2),
        "min_count": COUNT,
        "first_lag": replace(whole(0, 1), what="1, or 0 for modifiers that also scale themselves"),
        "own_weights": FLAG,
        "factored": FLAG,
        "edges": FLAG,
        "own_edges": FLAG,
        "device": DEVICE,
        "random_state": Range("a whole number, from 0 to 2^63 - 1, None", 0, 2**63 - 1, whole=True, none=True),
    },
    "sweep": {
        **SEVERAL,
        "corpus": SOURCE,
        "trials": COUNT,
        "seed": SEED,
        "resume": FLAG,
        "storage": Text("the URL of a database, or None", none=True, filled=True),
    },
    "reproduce": {**SEVERAL, "corpus": SOURCE, "balance": OPTIONAL_FLAG},
    "toy": {**SHAPE, **RUNNING, "hidden": STUDIED, "reviews": whole(1, SAMPLED), "starts": STARTS},
    "toy_corpus": {"language": TOY, "train": whole(1, SAMPLED), "validation": whole(1, SAMPLED), "seed": SEED},
    # Functions of Python that no command has the options of.
    "": {},
    "device": {"device": DEVICE},
    "load": {"path": RUN},
    "folder": {"folder": FOLDER, "out": FOLDER, "path": PATH},
    "save": {"folder": OPTIONAL_FOLDER, "overwrite": FLAG},
    "from_texts": {
        "validation": BELOW_ONE,
        "vocab_size": whole(2),
        "min_count": COUNT,
        "seed": SEED,
        "ordered": FLAG,
    },
    "statistics": {"corpus": replace(CORPUS, attributes=("splits", "vocab"))},
    "with_vocab": {"vocab": VOCAB, "other": VOCAB},
    "split": {"max_words": OPTIONAL_COUNT, "keep": one_of("last", "first"), "other": SPLIT},
    "only": {"names": Either("the name of a source, or a list of names", (TEXT, NAMES))},
    "ToyLanguage": {"valences": MAPPING, "modifiers": MAPPING, "length": whole(1, 10**6), "pads": whole(0, 10**6)},
    "Modifier": {"factor": VALENCE, "scope": whole(1, 10**6)},
    "sample": {"n": whole(1, SAMPLED)},
    "effective_attention": {"text": TEXT},
    "near": {"most": COUNT},
    "from_module": {"rnn": TEXT, "embedding": OPTIONAL_TEXT, "readout": TEXT, "pooling": POOLING, "check": FLAG},
    "from_torch": {
        "batch_first": OPTIONAL_FLAG,
        "pooling": POOLING,
    },
    "adapt": {"inputs": whole(1, WIDEST, none=True)},
    "from_transformers": {"check": FLAG},
    "with_classes": {"ordered": FLAG, "seed": SEED, "classes": NAMES},
    "extend": {"vocab": VOCAB, "seed": SEED},
    "reader": {"direction": DIRECTION, "both": Instance("a network that reads both ways", ("forwards", "backwards"))},
    "evaluate": {"max_words": OPTIONAL_COUNT, "tokens": OPTIONAL_COUNT, "most": OPTIONAL_COUNT, "split": SPLIT},
    "fit_readout": {"max_words": OPTIONAL_COUNT, "seed": SEED},
    "visited_states": {
        "n": COUNT,
        "seed": SEED,
        "max_words": OPTIONAL_COUNT,
        "length": whole(1, 10**6),
        "tokens": COUNT,
        "corpus": DOCUMENTS,
    },
    "find_fixed_points": {"mode": one_of("fixed", "slow"), "tolerance": ABOVE_ZERO, "chunk": OPTIONAL_COUNT},
    "fit_line_attractor": {
        "knots": whole(2, 100_000),
        "trim": Range("a share from 0 to below 0.5", 0, 0.5, below=True),
        "smooth": AT_LEAST_ZERO,
    },
    "remove_modes": {
        "modes": MODES,
        "kind": REMOVAL,
    },
    "class_geometry": {"starts": STARTS, "seed": SEED, "corpus": CORPUS},
    "probes": {"n": COUNT, "seed": SEED, "most": whole(2), "common": whole(2), "ordered": FLAG, "corpus": CORPUS},
    "find_modifiers": {
        "top": COUNT,
        "network": ANYTHING,
        "line": ANYTHING,
    },
    "class_strengths": {
        "top": COUNT,
        "probes": Instance(
            "probe words by class, such as rnnlens.ClassProbes({'joy': ['happy'], …})", ("sizes", "known_to")
        ),
    },
    "strongest": {"n": FROM_ZERO, "by": MEASURE, "threshold": replace(AT_LEAST_ZERO, none=True)},
    "rank": {"by": MEASURE, "measure": MEASURE},
    "write_figure": {"path": PATH, "figure": FIGURE},
    "words": {"words": WORDS, "phrases": WORDS},
    "fit_subspace": {"rank": OPTIONAL_COUNT},
    "fit_bilinear": {"rank": COUNT, "most": COUNT, "seed": SEED},
    "attribute": {"draws": whole(1, 10**6), "seed": SEED, "words": WORDS},
    "perturb": {
        "draws": whole(0, 10**6),
        "seed": SEED,
        "shuffle": replace(SEED, none=True),
        "pads": whole(0, 10**6),
        "gains": GAINS,
        "control_gains": GAINS,
        "others": SUBSPACES,
        "reviews": REVIEWS,
    },
    "perturbations": {
        "seed": SEED,
        "ranks": Each("a list of ranks, at least 1, each once", COUNT, distinct=True),
        "draws": replace(FUNCTION, what="a function that gives the number of draws of a rank"),
        "others": SUBSPACES,
        "reviews": REVIEWS,
    },
    "read_reviews": {"split": SPLIT, "max_words": OPTIONAL_COUNT},
    "mode_removal": {
        "modes": MODES,
        "kind": REMOVAL,
        "order": one_of("single", "greedy"),
        "what": one_of("state", "input"),
        "most": COUNT,
        "draws": whole(1, 10**6),
        "seed": SEED,
    },
}
"""Command, record or function → option → its allowed values."""
