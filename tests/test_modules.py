"""A whole module becomes a network by the paths of its parts, and only if its own forward gives the same logits."""

import pytest
import torch
from tests.torch_networks import WORDS, D, H, close, outputs_of, sentences
from torch import nn

import rnnlens
from rnnlens import RnnlensError, from_module
from rnnlens.common.errors import RnnlensWarning
from rnnlens.networks.readouts import ordered_logits

PATHS = {"rnn": "encoder.rnn", "embedding": "embed", "readout": "classifier"}


class Classifier(nn.Module):
    """The usual kinds of classifiers. how: what its forward takes and returns."""

    def __init__(self, how="lengths", both=False, pooling=None, outputs=1, batch_first=True):
        super().__init__()
        torch.manual_seed(0)
        self.how, self.pooling = how, pooling
        self.embed = nn.Embedding(len(WORDS), D, padding_idx=0)
        self.encoder = nn.ModuleDict({"rnn": nn.LSTM(D, H, bidirectional=both, batch_first=batch_first)})
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(H * (1 + both), outputs)

    def read(self, ids, lengths):
        outputs, last = outputs_of(self.encoder["rnn"], self.embed, ids, lengths.cpu())
        last = last if self.pooling is None else outputs.sum(1) / lengths.unsqueeze(1)
        return self.classifier(self.dropout(last))

    def forward(self, ids, *args):
        if self.how == "time first":
            ids = ids.T
        (lengths,) = args if self.how == "lengths" else (torch.full((len(ids),), ids.shape[1]),)
        scores = self.read(ids, lengths)
        return {
            "tuple": lambda: (scores, None),
            "dict": lambda: {"logits": scores, "loss": None},
            "flat": lambda: scores[:, 0],
            "probabilities": lambda: scores.sigmoid() if scores.shape[1] == 1 else scores.softmax(1),
            "log-probabilities": lambda: scores.log_softmax(1),
            "doubled": lambda: 2 * scores,
            "above": lambda: (scores - torch.tensor([-0.5, 0.5])).sigmoid(),
            "ordered": lambda: ordered_logits(scores[:, 0], torch.tensor([-0.5, 0.5])).exp(),
            "text": lambda: "positive",
        }.get(self.how, lambda: scores)()


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_a_score_of_ordered_classes_is_compared_with_the_modules(pooling, recwarn):
    ordered = {"classes": ["1", "2", "3"], "thresholds": [-0.5, 0.5]}
    network = from_module(Classifier(pooling=pooling), WORDS, **PATHS, **ordered, pooling=pooling)
    assert network.ordered and not [warning for warning in recwarn if issubclass(warning.category, RnnlensWarning)]
    other = "mean" if pooling is None else None
    with pytest.raises(RnnlensError, match=f"pass pooling={pooling!r}"):
        from_module(Classifier(pooling=pooling), WORDS, **PATHS, **ordered, pooling=other)
    with pytest.raises(RnnlensError, match="whose forward does something else"):
        from_module(Classifier("doubled"), WORDS, **PATHS, **ordered)


@pytest.mark.parametrize("how", ["above", "ordered"])
def test_ordered_classes_are_compared_with_what_a_module_says_of_each(how, recwarn):
    """A module may also return the probabilities of being above each threshold, or those of the classes."""
    classes = ["1", "2", "3"]
    assert from_module(Classifier(how), WORDS, **PATHS, classes=classes, thresholds=[-0.5, 0.5]).ordered
    assert not [warning for warning in recwarn if issubclass(warning.category, RnnlensWarning)]
    with pytest.raises(RnnlensError, match="whose forward does something else"):  # another threshold
        from_module(Classifier(how), WORDS, **PATHS, classes=classes, thresholds=[-0.5, 0.7])


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("pooling", [None, "mean"])
@pytest.mark.parametrize("how", ["lengths", "ids", "time first", "tuple", "dict", "flat", "probabilities"])
def test_a_module_and_its_network_give_the_same_logits(how, pooling, both, recwarn):
    module = Classifier(how, both, pooling, batch_first=how != "time first").train()
    network = from_module(module, WORDS, **PATHS, pooling=pooling)
    assert module.training and module.dropout.training  # it is called in eval mode, and left as it was
    assert not [warning for warning in recwarn if issubclass(warning.category, RnnlensWarning)]
    ids, lengths = sentences()
    with torch.no_grad():
        close(network(ids, lengths), module.eval().read(ids, lengths)[:, 0])


@pytest.mark.parametrize("how", ["ids", "probabilities", "log-probabilities"])
@pytest.mark.parametrize("reads", [{"target": 1}, {"classes": ["a", "b", "c"]}, {"target": (2, 0)}])
def test_classes_of_a_module_are_compared_too(how, reads):
    module = Classifier(how, outputs=3)
    network = from_module(module, WORDS, **PATHS, **reads)
    assert len(network.classes) == (3 if "classes" in reads else 0)
    with pytest.raises(RnnlensError, match="differ by up to"):
        module.how = "doubled"
        from_module(module, WORDS, **PATHS, **reads)


def test_another_forward_is_refused_in_one_line():
    with pytest.raises(RnnlensError, match=r"'Classifier', whose forward does something else: .*adapt") as error:
        from_module(Classifier("doubled"), WORDS, **PATHS)
    assert "\n" not in str(error.value)
    assert from_module(Classifier("doubled"), WORDS, **PATHS, check=False).size == 2 * H
    with pytest.raises(RnnlensError, match="pass pooling='mean'"):
        from_module(Classifier(pooling="mean"), WORDS, **PATHS)
    with pytest.raises(RnnlensError, match="pass pooling=None"):
        from_module(Classifier(), WORDS, **PATHS, pooling="mean")


def test_a_module_that_cannot_be_called_is_not_checked_and_a_warning_says_so():
    with pytest.warns(RnnlensWarning, match="not checked against 'Classifier': module.ids. gave no logits"):
        from_module(Classifier("text"), WORDS, **PATHS)


def test_a_module_without_words():
    class Regression(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.GRU(3, H, batch_first=True), nn.Linear(H, 1)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    module, x = Regression(), torch.randn(4, 5, 3)
    network = rnnlens.from_module(module, None, rnn="rnn", embedding=None, readout="head")
    close(network(x), module(x)[:, 0])


def test_compiled_parts_of_a_module_are_read_as_the_parts_that_they_wrap():
    module, (ids, lengths) = Classifier(), sentences()
    network = from_module(module, WORDS, **PATHS)
    module.embed, module.classifier = (
        torch.compile(part, backend="eager") for part in (module.embed, module.classifier)
    )
    module.encoder["rnn"] = torch.compile(module.encoder["rnn"], backend="eager")
    close(from_module(module, WORDS, **PATHS)(ids, lengths), network(ids, lengths))
