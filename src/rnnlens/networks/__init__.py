"""Networks: cells (one equation each), `Network`, and adapters for a user's own torch modules."""

from rnnlens.networks.adapters import adapt, from_torch
from rnnlens.networks.architectures import ARCHITECTURES
from rnnlens.networks.both_ways import AnyNetwork, BothWays, Sides, new_network
from rnnlens.networks.cells import CELLS, GRU, LSTM, UGRNN, Cell, Vanilla
from rnnlens.networks.deep import DeepBothWays, Occlusion
from rnnlens.networks.extending import extend, with_classes
from rnnlens.networks.matching import check_words
from rnnlens.networks.modules import from_module
from rnnlens.networks.network import Network
from rnnlens.networks.pooling import unpooled
from rnnlens.networks.pretrained import from_transformers
from rnnlens.networks.recurrences import RECURRENCES, RGLRU, Mamba, MinGRU, MinLSTM
from rnnlens.networks.scan import scan, step_by_step
from rnnlens.networks.within import DIRECTIONS, Within, reader_of, replaced, within

__all__ = [
    "Network",
    "from_torch",
    "from_module",
    "from_transformers",
    "adapt",
    "extend",
    "with_classes",
    "unpooled",
    "AnyNetwork",
    "BothWays",
    "new_network",
    "DeepBothWays",
    "Occlusion",
    "Sides",
    "DIRECTIONS",
    "Within",
    "reader_of",
    "replaced",
    "within",
    "check_words",
    "ARCHITECTURES",
    "CELLS",
    "RECURRENCES",
    "Cell",
    "GRU",
    "LSTM",
    "UGRNN",
    "Vanilla",
    "MinGRU",
    "MinLSTM",
    "Mamba",
    "RGLRU",
    "scan",
    "step_by_step",
]
