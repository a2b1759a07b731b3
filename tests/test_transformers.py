"""transformers' recurrent models as networks: tiny, randomly initialized ones; nothing is downloaded."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pages import ROOT, blocks
from torch import nn

import rnnlens
from rnnlens import Corpus, Probes, RnnlensError, attribute, fit_readout, from_transformers, jacobians
from rnnlens.analysis.examples import corpus_examples
from rnnlens.context.class_probes import ClassProbes
from rnnlens.corpora import PieceVocab
from rnnlens.corpora.pieces import spelling
from rnnlens.networks.architectures import parts_of

tf = pytest.importorskip("transformers", reason="needs transformers: pip install -e '.[transformers]'")

GOOD, BAD = ["good", "great", "fine", "lovely"], ["bad", "poor", "ugly", "awful"]
WORDS = [*GOOD, *BAD, "not", "very", "the", "a", "film", "plot", "was", "it", "un", "happy", "'"]
SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2}
CONFIGS = {
    "mamba": lambda: tf.MambaConfig(**SIZES, state_size=2, time_step_rank=3),
    "mamba2": lambda: tf.Mamba2Config(**SIZES, state_size=2, num_heads=4, head_dim=8, n_groups=2, chunk_size=8),
    "rwkv": lambda: tf.RwkvConfig(**SIZES, attention_hidden_size=16, intermediate_size=24, rescale_every=1),
    "xlstm": lambda: tf.xLSTMConfig(vocab_size=40, hidden_size=128, num_hidden_layers=1, num_heads=2),
    "recurrent_gemma": lambda: tf.RecurrentGemmaConfig(
        **SIZES, lru_width=16, num_attention_heads=2, block_types=["recurrent"], intermediate_size=32
    ),
}
FAMILIES = sorted(CONFIGS)


class Tokenizer:
    """Byte-level pieces: words after a space, letters and a few endings."""

    def __init__(self):
        pieces = ["<|end|>", *(f"Ġ{word}" for word in WORDS), "s", "ly", ".", "happy"]
        self.vocab = {piece: i for i, piece in enumerate(pieces)}

    def get_vocab(self):
        return self.vocab

    def tokenize(self, text):
        pieces, text = [], text.replace(" ", "Ġ")
        while text:
            known = [piece for piece in self.vocab if text.startswith(piece)]
            piece = max(known, key=len, default=text[0])
            pieces.append(piece)
            text = text[len(piece) :]
        return pieces


def model_of(family, seed=0):
    """A tiny model whose weights, biases and norms are all random, so that each of them matters."""
    torch.manual_seed(seed)
    model = tf.AutoModel.from_config(CONFIGS[family]()).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model


def network_of(family, head=True, **options):
    model = model_of(family)
    width = model.config.hidden_size
    return from_transformers(model, nn.Linear(width, 1) if head else None, Tokenizer(), **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_states_are_the_models_own(family):
    model = model_of(family)
    head = nn.Linear(model.config.hidden_size, 1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    network = from_transformers(model, head, Tokenizer())
    ids = torch.randint(len(network.vocab), (2, 50), generator=torch.Generator().manual_seed(0))
    first = torch.full((2, 1), model.config.bos_token_id) if family == "recurrent_gemma" else ids[:, :0]
    with torch.no_grad():
        own = model(input_ids=torch.cat([first, ids], 1), use_cache=True)
        logits = head(own.last_hidden_state[:, first.shape[1] :]).squeeze(-1)
        assert (network.logits(ids)[:, 1:] - logits).abs().max() < 1e-5
        h = network.h0.expand(2, -1)
        for t in range(50):
            h = network.step(h, network.embed(ids[:, t]))
    torch.testing.assert_close(h, network.states(ids)[:, -1], rtol=1e-5, atol=1e-5)
    parts = {name: h[:, place] for name, place in parts_of(network.cell).items()}
    assert sum(part.shape[1] for part in parts.values()) == network.size
    for name, part in caches(family, model, own).items():
        torch.testing.assert_close(parts[name], part.flatten(1).float(), rtol=1e-4, atol=1e-5, msg=name)
    if family != "rwkv":  # which transformers itself rescales for evaluation
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def caches(family, model, own):
    """What transformers keeps after the last token, by our names of the parts."""
    found = {"output": own.last_hidden_state[:, -1]}
    for i in range(model.config.num_hidden_layers):
        layer = f"layer {i + 1}"
        if family in ("mamba", "mamba2"):
            cache = own.cache_params
            conv, state = cache.get_conv_state(i, state_idx=0), cache.get_recurrent_state(i, state_idx=0)
            found |= {f"{layer} convolution": conv[..., 1:].transpose(1, 2), f"{layer} state": state}
        elif family == "recurrent_gemma":
            block = model.layers[i].temporal_block
            found |= {f"{layer} convolution": block.conv1d_state.transpose(1, 2)[:, -3:]}
            found |= {f"{layer} state": block.rg_lru.recurrent_states}
        elif family == "rwkv":
            forward, shift, num, den, top = (part[:, :, i] for part in own.state)
            found |= {f"{layer} shift": shift, f"{layer} feed-forward shift": forward}
            found |= {f"{layer} average": num / den, f"{layer} weight": top + den.log()}
        else:
            names = ("state", "normalizer", "scale")
            found |= {f"{layer} {name}": part for name, part in zip(names, own.cache_params.rnn_state[i], strict=True)}
    return found


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "xlstm"])
def test_derivatives_are_those_of_autograd(family):
    network = network_of(family).double()
    h = network.states(torch.tensor([[3, 9, 1]]))[0, -1]
    e = network.embed(torch.tensor(5))
    J_rec, J_inp = jacobians(network, h, e)
    rec, inp = torch.autograd.functional.jacobian(network.step, (h, e))
    torch.testing.assert_close(J_rec, rec, rtol=0, atol=1e-10)
    torch.testing.assert_close(J_inp, inp, rtol=0, atol=1e-10)
    along = torch.randn(network.size, generator=torch.Generator().manual_seed(0)).double()
    moved = torch.func.jvp(lambda h: network.step(h, e), (h,), (along,))[1]
    torch.testing.assert_close(moved, rec @ along, rtol=0, atol=1e-10)
    torch.testing.assert_close(
        torch.vmap(network.step)(h.expand(3, -1), e.expand(3, -1))[0], network.step(h, e), rtol=0, atol=1e-12
    )
    if hasattr(network.cell, "slope"):
        rest = rec - torch.diag(network.cell.slope(h, e))
        assert rec.diagonal().sub(network.cell.slope(h, e)).abs().max() < 1e-12
        assert torch.linalg.matrix_power(rest, network.cell.depth).abs().max() < 1e-12


def test_zero_embedding_closes_mambas_gates_and_the_mean_does_not():
    states = torch.randn(4, network_of("mamba").size)
    for blank, read in (("zero", False), ("mean", True)):
        network = network_of("mamba", blank=blank)
        logits = network.logit(network.step(states))
        assert bool((logits - logits[0]).abs().max() > 1e-3) is read


def test_fixed_points_need_no_head():
    network = network_of("mamba", head=False).double()
    found = rnnlens.find_fixed_points(network, network.h0.expand(2, -1), tolerance=1e-20).unique
    assert len(found.states) == 1
    torch.testing.assert_close(network.step(found.states), found.states, rtol=0, atol=1e-9)


def test_effective_attention_sums_to_the_layers_own_outputs():
    network = network_of("mamba", head=False)
    found = rnnlens.effective_attention(network, "the films was not happy", layer=2)
    ids = torch.as_tensor(network.vocab.encode(found.words)).unsqueeze(0)
    x, start = network.cell.inputs_of(1, network.embed(ids), network.h0.unsqueeze(0))
    outputs = network.cell.layers[1].layer.outputs(x, start)[0]
    torch.testing.assert_close(found.parts.sum(1) + found.direct, outputs, rtol=1e-4, atol=1e-6)
    with pytest.raises(RnnlensError, match="no effective attention"):
        rnnlens.effective_attention(network_of("mamba2"), "not good")


# --- pieces -----------------------------------------------------------------------------------------------------------


def test_pieces_are_spelled_in_one_way_and_joined_into_words():
    assert [spelling("Ġnot", "Ġ"), spelling("ing", "Ġ"), spelling("ĠcafÃ©", "Ġ")] == ["not", "##ing", "café"]
    assert [spelling("▁not", "▁"), spelling("##ing", ""), spelling("<s>", "▁")] == ["not", "##ing", "<s>"]
    vocab = PieceVocab(Tokenizer())
    pieces = vocab.split("the films was unhappy, unhappy.".replace(",", ""))
    assert pieces == ["the", "film", "##s", "was", "un", "##happy", "un", "##happy", "##."]
    assert [word for word, _ in vocab.joined(pieces)] == ["the", "films", "was", "unhappy", "unhappy", "."]
    assert vocab["happy"] != vocab["##happy"]
    assert vocab.decode(vocab.encode("<pad> not")) == ["<pad>", "not"]


def test_bytes_become_characters_and_white_space_parts_words():
    """Byte-level pieces may hold parts of characters, spaces and line ends, which were joined into one garbled word."""
    parts = [
        "<|end|>",
        "Ġnot",
        "Ġfilm",
        "film",
        "Ġna",
        "Ã",
        "¯",
        "ve",
        "Ġ",
        "ðŁ",
        "ĺĢ",
        "Ċ",
        "ĠçĶ",
        "µ",
        "Ġà¤",
        "¹",
        "à¤¿",
        "č",
    ]
    vocab = PieceVocab(SimpleNamespace(get_vocab=lambda: {part: i for i, part in enumerate(parts)}, tokenize=str.split))

    def joined(*written):
        return [word for word, _ in vocab.joined([vocab.words[parts.index(part)] for part in written])]

    assert joined("Ġna", "Ã", "¯", "ve", "Ġfilm") == ["naïve", "film"]
    assert joined("Ġnot", "Ġ", "ðŁ", "ĺĢ", "film") == ["not", "Ġ", "😀", "film"]
    assert joined("Ġnot", "Ċ", "film", "č", "film") == ["not", "Ċ", "film", "č", "film"]
    assert joined("ĠçĶ", "µ", "Ġà¤", "¹", "à¤¿") == ["电", "हि"]
    assert joined("Ġna", "Ã", "Ġfilm", "ðŁ") == ["na", "Ã", "film", "ðŁ"]  # cut off: as the tokenizer writes it
    assert [vocab.words[i] for i in np.flatnonzero(vocab.begins())] == ["not", "film", "na"]


def test_a_reading_has_one_row_for_each_word_with_the_logit_after_its_last_piece():
    network = network_of("mamba")
    ids = torch.as_tensor(network.vocab.encode("the films unhappy"))
    logits = network.logits(ids.unsqueeze(0))[0, 1:].tolist()
    expected = [("the", logits[0]), ("films", logits[2]), ("unhappy", logits[4])]
    assert network.read("the films unhappy") == expected
    assert network.read(words=["the", "films", "unhappy"]) == expected
    assert network("the films unhappy") == pytest.approx(logits[-1], abs=1e-6)


def test_a_corpus_of_words_becomes_one_of_pieces():
    corpus = Corpus.from_texts(["the films.", "unhappy film", "a film"] * 4, [1, 0, 1] * 4, test=(["a dog"], [1]))
    vocab = PieceVocab(Tokenizer())
    recoded = corpus.with_vocab(vocab)
    for i in range(len(corpus.train)):
        pieces = vocab.decode(recoded.train.document(i))
        assert [word for word, _ in vocab.joined(pieces)] == corpus.vocab.decode(corpus.train.document(i))
    assert vocab.decode(recoded.test.document(0)) == ["a", "<pad>"]  # unknown, and this tokenizer has no <unk>


def test_probes_are_whole_words_and_examples_are_texts():
    """Not `##happy`, and not `film ##s`."""
    texts = [f"the films {word} unhappy." for word in (*GOOD, *BAD)] * 4
    corpus = Corpus.from_texts(texts, [1, 1, 1, 1, 0, 0, 0, 0] * 4).with_vocab(PieceVocab(Tokenizer()))
    assert set(Probes.from_corpus(corpus).words) <= {*GOOD, *BAD, "the", "film", "un"}
    names = ["joy", "fear", "anger"]
    classes = Corpus.from_texts(texts[:24], names * 8).with_vocab(PieceVocab(Tokenizer()))
    found = ClassProbes.from_corpus(classes).words
    assert not any(word.startswith("##") for words in found.values() for word in words)
    unclear = SimpleNamespace(words=["film"], strength=torch.zeros(1), kinds=["unclear"])
    examples = corpus_examples(network_of("mamba"), unclear, corpus.train)
    assert {one.text for one in examples} <= {text.replace(".", " .") for text in texts} and examples


# --- the head ---------------------------------------------------------------------------------------------------------


def documents(n, words, seed):
    """Texts whose class is told by their last word; words: those of each class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(words), size=n)
    texts = [f"{' '.join(rng.choice(WORDS[8:16], 4))} {rng.choice(words[label])}" for label in labels]
    return texts, labels.tolist()


@pytest.fixture(scope="module")
def fitted():
    corpus = Corpus.from_texts(*documents(300, [BAD, GOOD], 0), test=documents(100, [BAD, GOOD], 1))
    network = network_of("mamba", head=False)
    return network, fit_readout(network, corpus), corpus


def test_a_fitted_head_classifies_and_leaves_the_network_as_it_was(fitted):
    network, made, corpus = fitted
    assert made.readout_fit.accuracy["test"] > 0.9
    test = corpus.test
    texts = [" ".join(corpus.vocab.decode(test.document(i))) for i in range(len(test))]
    assert (made.predict(texts) == test.labels).mean() == pytest.approx(made.readout_fit.accuracy["test"])
    with pytest.raises(RnnlensError, match="no head"):
        network.read("not good")
    assert made.vocab.counts.sum() == len(corpus.with_vocab(network.vocab).train.ids)


def test_a_head_of_several_classes_is_fitted():
    words = [BAD, GOOD, ["film", "plot"]]
    corpus = Corpus.from_texts(*documents(300, words, 0), classes=["bad", "good", "none"])
    made = fit_readout(network_of("mamba", head=False), corpus)
    assert made.classes == ("bad", "good", "none")
    assert made.readout_fit.accuracy["validation"] > 0.8
    assert set(made.read("the film was good")[-1][1]) == set(made.classes)


def test_the_recipe_runs_from_model_to_page(tmp_path, monkeypatch):
    texts, labels = documents(200, [BAD, GOOD], 0)
    lines = ["text,label", *(f"{text},{label}" for text, label in zip(texts, labels, strict=True))]
    (tmp_path / "reviews.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tf.AutoModel, "from_pretrained", lambda name: model_of("mamba"))
    monkeypatch.setattr(tf.AutoTokenizer, "from_pretrained", lambda name: Tokenizer())
    names = {}
    for block in blocks(ROOT / "docs/howto/recurrences.md"):
        if block.language == "py":
            exec(block.code, names)
    analysis = names["analysis"]
    assert {"not", "very"} <= set(analysis.modifiers.words)
    assert not any(word.startswith("##") for word in analysis.modifiers.words)
    found = attribute(names["network"], analysis.line.h_star, ["not", "very"], Probes(GOOD, BAD), draws=10)
    assert found.parts == [f"layer {k} {part}" for k in (1, 2) for part in ("convolution", "state")]
    torch.testing.assert_close(found.shares.sum(1), found.strength)
    assert (tmp_path / "mamba.html").is_file()
    analysis.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "results.json").is_file()


# --- what is refused --------------------------------------------------------------------------------------------------


def shell(config):
    """A model of which only the configuration matters."""
    model = nn.Module()
    model.config, model._is_stateful = config, config.model_type in ("jamba", "falcon_mamba")
    return model


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("GPT2", "'gpt2' is not supported"),
        ("Jamba", "'jamba' is not supported"),
        ("RecurrentGemma", "'recurrent_gemma' is a hybrid"),
        ("FalconMamba", "'falcon_mamba' is not supported"),
    ],
)
def test_other_models_are_refused_by_name_in_one_line(name, says):
    with pytest.raises(RnnlensError, match=says):
        from_transformers(shell(getattr(tf, f"{name}Config")()), None, Tokenizer())


def test_a_model_that_a_hook_changes_is_refused():
    changed = model_of("mamba")
    changed.norm_f.register_forward_hook(lambda module, given, made: 2 * made)
    with pytest.raises(RnnlensError, match="a hook changes it"):
        from_transformers(changed, None, Tokenizer())
