"""What people say of modifiers, and how well networks agree with it."""

import copy

import numpy as np
import pytest
import torch
from handmade import MODIFIERS, VALENCE, handmade
from test_cli import call

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, figures, toy_corpus, train
from rnnlens.analysis.agreement import CONSENSUS
from rnnlens.analysis.behaviour import behaviour
from rnnlens.analysis.lexicon import Lexicon, read_lexicon
from rnnlens.analysis.people import PARTS, Judged, judged_in
from rnnlens.analysis.scores import correlate, rank
from rnnlens.analysis.trees import read_trees

PEOPLE = {"not": -1.6, "never": -1.0, "very": 0.8, "so": 1.0, "hardly": -0.6, "really": 0.4}  # made-up judgements


def written(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Sentences "modifier w3 good", with labels that follow PEOPLE; neutral words change nothing."""
    lines = []
    for k in range(30):
        for word, valence in VALENCE.items():
            for modifier in [*MODIFIERS, f"w{k % 5}"]:
                whole = np.clip(round((1 + PEOPLE.get(modifier, 0.0)) * valence), -2, 2)
                rest = f"({valence + 2:.0f} (2 w{k}) ({valence + 2:.0f} {word}))"
                lines.append(f"({whole + 2:.0f} (2 {modifier}) {rest})")
    return written(tmp_path_factory.mktemp("trees") / "trees.txt", *lines)


@pytest.fixture(scope="module")
def network():
    return handmade()[0]


# --- trees ------------------------------------------------------------------------------------------------------------


def test_pairs_carry_people_s_labels_and_the_number_of_their_sentence(tmp_path):
    path = written(tmp_path / "t", "(2 (2 One) (2 two))", "", "(1 (2 Not) (3 (2 at\xa0all) (3 -LRB-)))")
    trees = read_trees(path)
    assert [trees.text(phrase) for phrase in trees.phrases if phrase.sentence == 2] == [
        "Not",
        "at\xa0all",
        "(",
        "at\xa0all (",
        "Not at\xa0all (",
    ]
    assert [(p.word, p.rest.label, p.whole.label, p.whole.sentence) for p in trees.pairs] == [
        ("one", 0, 0, 1),
        ("at\xa0all", 1, 1, 2),
        ("not", 1, -1, 2),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("(2 (2 a) (2 b)", "1 brackets are not closed"),
        ("(2 a) (2 b)", "after the tree"),
        ("(good)", "'good' stands where a label should be"),
        ("(5 a)", "'5' is not one of"),
    ],
)
def test_what_is_no_tree_is_told_with_its_line(tmp_path, line, told):
    path = written(tmp_path / "bad.txt", "(3 (2 very) (3 good))", line)
    with pytest.raises(RnnlensError, match=r"bad\.txt', line 2: ") as error:
        read_trees(path)
    assert told in str(error.value) and "\n" not in str(error.value)


# --- people -----------------------------------------------------------------------------------------------------------


def test_a_word_s_strength_is_the_factor_of_its_phrases_less_one(tmp_path):
    people = judged_in(
        read_trees(
            written(
                tmp_path / "t",
                "(1 (2 not) (3 good))",  # 1 → −1
                "(1 (2 Not) (4 great))",  # 2 → −1
                "(0 (2 not) (2 there))",  # neutral: says nothing
                "(1 (2 not) (3 good))",  # the same phrase: judged once
            )
        )
    )
    assert people.words == ("not",) and people.phrases().tolist() == [2]
    assert people.strength()[0] == pytest.approx((-1 - 2) / (1 + 4) - 1)
    assert people.strength("odd")[0] == pytest.approx(-2) and people.strength("even")[0] == pytest.approx(-1.5)


def test_reliability_is_the_share_of_variance_that_is_not_noise():
    """With noise known, the reliability by split halves is var(truth) / var(truth + noise)."""
    generator, M, n = np.random.default_rng(0), 3_000, 4
    truth = generator.normal(size=M)
    means = truth[:, None] + generator.normal(size=(M, PARTS)) * 2  # of n phrases each
    sums = np.stack([np.full_like(means, n), (1 + means) * n, np.full_like(means, n)], -1)
    people = Judged("made up", tuple(map(str, range(M))), sums)
    rows = np.arange(M)
    assert people.reliability(rows) == pytest.approx(1 / (1 + 4 / PARTS), abs=0.03)
    assert people.reliability(rows, "even") == pytest.approx(1 / (1 + 4 / (PARTS / 2)), abs=0.03)
    assert people.reliability(rows[:2]) is None


def test_correlations_are_of_words_with_enough_phrases_in_those_sentences():
    generator, M = np.random.default_rng(1), 60
    means = generator.normal(size=M)
    sums = np.zeros((M, PARTS, 3))
    sums[:, :, 0] = 4
    sums[: M // 2, 0::2, 0] = 10  # in even sentences only these have 20 phrases and more
    sums[:, :, 1], sums[:, :, 2] = 1 + means[:, None], 1
    people = Judged("made up", tuple(map(str, range(M))), sums)
    ours = {str(i): means[i] + generator.normal() for i in range(M)}
    found = correlate(ours, people, "even", 20)
    half = [ours[str(i)] for i in range(M // 2)]
    assert found.words == M // 2 and found.r == pytest.approx(np.corrcoef(half, means[: M // 2])[0, 1])
    assert found.low < found.r < found.high and found.ceiling == pytest.approx(1)
    assert correlate(ours, people, "all", 20).words == M and correlate(ours, people, "odd", 20).r is None


# --- lexicons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("not\nvery\n", {"not": None, "very": None}),
        ("word,modifier\nNot,negator\nvery,adverb\n", {"not": -1.0, "very": None}),
        ("word,value,count\nthe,0,532\nnot,-1,40\n;-),1\n", {"the": 0.0, "not": -1.0, ";-)": 1.0}),
        ("not,-1.5\nvery,+\nthe,0\n", {"not": -1.5, "very": 1.0, "the": 0.0}),
        ("not\t-0.7\t0.4\t[-1, 0]\n\"\t1.0\n", {"not": -0.7, '"': 1.0}),
        ("verb,lack,SHIFTER,AFFECTS_POSITIVE,GOLD_STANDARD\nnoun,lack,NONSHIFTER,NONE,X\nadj,red,NONSHIFTER,NONE,X\n",
         {"lack": -1.0, "red": 0.0}),
    ],
)  # fmt: skip
def test_lexicons_are_read(tmp_path, text, values):
    (tmp_path / "list.csv").write_text(text)
    assert read_lexicon(tmp_path / "list.csv").values == values


def test_average_precision_by_hand():
    strength = {"not": -2.0, "good": 1.5, "very": 1.0, "the": 0.1}
    found = rank(strength, Lexicon("list", {"not": -1.0, "very": -1.0, "zebra": None}))
    assert found.average_precision == pytest.approx((1 / 1 + 2 / 3) / 2) and found.chance == 0.5
    assert found.same_sign == 0.5 and (found.modifiers, found.words) == (2, 4)
    named = rank(strength, Lexicon("list", {"very": None, "the": 0.0}))  # it also names a word that is none
    assert named.average_precision == 1 and named.words == 2 and named.same_sign is None
    with pytest.raises(RnnlensError, match="shares no modifier"):
        rank(strength, Lexicon("list", {"nicht": -1.0}))


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(network, trees):
    other = copy.deepcopy(network)  # with another bias: of no effect on strengths
    torch.nn.init.constant_(other.readout_b, network.b.item() + 1e-3)
    return rnnlens.agreement([network, other], trees, [Lexicon("list", {"not": -1.0, "so": 1.0})])


def test_a_network_that_modifies_as_people_do_agrees_with_them(found):
    one = found.scores[0]
    assert one.by_strength[20, "all"].r > 0.8 and one.by_behaviour[20, "all"].r > 0.8
    assert one.by_strength[20, "all"].words == len(MODIFIERS) + 5
    assert one.rankings["list"].same_sign == 1


def test_behaviour_is_what_the_network_reads(network, trees):
    opened = read_trees(trees)
    read = behaviour(network, opened, ["not"])
    pairs = {opened.text(pair.whole): opened.text(pair.rest) for pair in opened.pairs if pair.word == "not"}
    whole, rest = (np.array([network.read(text)[-1][1] for text in texts]) for texts in (pairs, pairs.values()))
    assert read.words == ("not",) and read.phrases()[0] == len(pairs)
    assert read.strength()[0] == pytest.approx((whole * rest).sum() / (rest * rest).sum() - 1)


def test_several_networks_have_a_consensus(found):
    assert [one.name for one in found.scores] == ["network", "network (2)", CONSENSUS]
    assert found[CONSENSUS].strengths == pytest.approx(found["network"].strengths)
    with pytest.raises(RnnlensError, match="no network"):
        found["other"]


def test_of_too_few_words_nothing_is_claimed(network, tmp_path):
    few = rnnlens.agreement(network, written(tmp_path / "t", "(1 (2 not) (3 good))"))
    assert few.scores[0].by_strength[20, "all"].r is None and few.furthest() == []
    assert "Too few words" in few.figure().layout.title.text


def test_an_analysis_is_taken_as_it_is(network):
    analysis = rnnlens.analyze(network, top=60)
    strengths = rnnlens.agreement(analysis, trees_of(network)).scores[0].strengths
    assert strengths == dict(zip(analysis.modifiers.words, analysis.modifiers.strength.tolist(), strict=True))


def trees_of(network):
    """Trees, in memory, of a network's own words."""
    from rnnlens.analysis.trees import Pair, Phrase, Trees

    words = list(network.vocab.words)
    rest, whole = Phrase(1, 1, 2, 1), Phrase(1, 0, 2, 1)
    sentences = tuple((word, "good") for word in words)
    pairs = tuple(Pair(w, rest._replace(sentence=i + 1), whole._replace(sentence=i + 1)) for i, w in enumerate(words))
    return Trees("made up", sentences, (), pairs)


def test_the_figure_names_words_and_hostile_ones_stay_text(found):
    results = found.to_dict()
    results["words"][0]["word"] = "<b>evil</b>"
    figure = figures.agreement(results)
    assert "not" in [note.text for note in found.figure().layout.annotations]
    assert "&lt;b&gt;evil&lt;/b&gt;" in figure.data[0].hovertext[0]
    assert not any("<b>" in note.text for note in figure.layout.annotations)
    with pytest.raises(RnnlensError, match="no 'networks'"):
        figures.agreement({})


def test_the_command_compares_a_run_and_draws(capsys, tmp_path, trees):
    corpus = toy_corpus(train=64, validation=16)
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), tmp_path / "run")
    words = written(tmp_path / "list.txt", "not", "extremely")
    code, told, error = call(capsys, "agree", tmp_path / "run", "--lexicon", words, "--figure", tmp_path / "f.html")
    assert code == 0, error
    assert "Treebank" in told and "average precision" in told and "--trees" in told and "f.html" in told
    for options, expected in (
        (["--trees", written(tmp_path / "bad.txt", "(7 a)")], "line 1"),
        (["--lexicon", written(tmp_path / "de.txt", "nicht")], "shares no modifier"),
        (["--figure", tmp_path / "f.xyz"], "f.xyz"),
    ):
        code, _, error = call(capsys, "agree", tmp_path / "run", *options)
        assert code == 1 and expected in error and error.count("\n") == 1
    assert call(capsys, "agree")[0] == 2
