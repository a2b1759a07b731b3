"""What commands say: true wherever it is said, with a fix that works when it is pasted."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.world import write_reviews

import rnnlens
from rnnlens import Network, RnnlensError, Vocab
from rnnlens.cli import main
from rnnlens.common.errors import RnnlensWarning, exit_code_of, pasted
from rnnlens.common.files import UnwrittenError
from rnnlens.runs import zoo

SMALL = ["--hidden", "4", "--embedding", "2", "--epochs", "1"]


def call(capsys, *arguments):
    """Exit code, and what a command says."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out + captured.err


def refused(capsys, *arguments):
    """The one line with which a command is refused."""
    code, told = call(capsys, *arguments)
    assert code in (1, 2) and told.startswith("error: ") and told.count("\n") == 1, told
    return told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Reviews, a corpus of them, a run, and a copy of it that is analyzed, in a folder whose name has a space."""
    folder = tmp_path_factory.mktemp("my data")
    write_reviews(folder / "reviews.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in ("prepare reviews.csv --out corpus", f"train corpus --out run {' '.join(SMALL)}"):
            with pytest.raises(SystemExit, match="0"):
                main(line.split())
        shutil.copytree("run", "analyzed")
        rnnlens.analyze("analyzed", "corpus", reviews=10).save()
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A copy of `folder`, as the current one."""
    shutil.copytree(folder, tmp_path / "a b", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "a b")
    return tmp_path / "a b"


# --- what a folder is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("analyze corpus", "not a run folder but a prepared corpus: train a network on it with `rnnlens train corpus"),
        ("analyze reviews.csv", "not a run folder but a file"),
        ("analyze .", "there are runs inside, 'analyzed', 'run'"),
        ("analyze run --corpus run", "'run' is a run folder: expected a corpus"),
        ("report zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("figures zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("analyze zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("prepare reviews.csv --out run", "holds 'checkpoint', which is not part of a prepared corpus"),
        ("train corpus more --out x", "unexpected 'more': put a name with spaces in quotes"),
        ("train corpus", "--out is missing: `rnnlens train` needs it (see `rnnlens train --help`)"),
        ("train --out x", "CORPUS is missing: `rnnlens train` needs it"),
        ("train corpus --out", "--out requires an argument"),
        ("train corpus --out x --settings no.json", "there is no file 'no.json': expected the settings.json of a"),
        ("train corpus --out run --resume --hidden 4 --embedding 2 --epochs 2", "its setting epochs is '1', now '2'"),
        ("analyze run --top 3", "there are 3 words to measure: expected at least 5; raise top (--top)"),
        ("train corpus --out x --arch mamba --tuned", "only for gru, lstm, ugrnn, vanilla: leave --tuned out"),
        ("train corpus --out x --settings reviews.csv", "expected the settings.json of a `rnnlens sweep`"),
        ("baselines corpus --modifiers analyzed --out x --refit", "evaluate on others, with test (--test)"),
    ],
)
def test_a_wrong_kind_of_folder_or_flag_is_named_as_what_it_is(capsys, here, line, said):
    assert said in refused(capsys, *line.split())


@pytest.mark.parametrize("text", ["- not good", "-5 stars, not good", "--bad film"])
def test_a_text_that_begins_with_a_dash_says_how_to_write_it(capsys, here, text):
    """The error was that `-5` is not a recognized option."""
    said = refused(capsys, "probe", "run", text)
    assert f"{text!r} begins with a dash and was taken for an option: write -- before it" in said
    assert call(capsys, "probe", "run", "--", text)[0] == 0


def test_a_suggested_command_can_be_pasted(capsys, here):
    path = here / "run"
    for line in (["report", path], ["figures", path], ["baselines", "corpus", "--modifiers", path, "--out", "x"]):
        command = re.search("`rnnlens (.*)`", refused(capsys, *line)).group(1)
        assert shlex.split(command) == ["analyze", str(path)]
    told = refused(capsys, "analyze", here / "no run")
    assert f"--out '{here}/no run'`" in told
    assert (pasted("-x"), pasted("a b")) == ("./-x", "'a b'")


def test_another_corpus_is_refused_as_such_not_for_its_size(capsys, here):
    Path("other.csv").write_text("".join(Path("reviews.csv").read_text().splitlines(True)[:41]))
    told = refused(capsys, "analyze", "analyzed", "--corpus", "other.csv", "--reviews", 5)
    assert "names another corpus" in told and "pass the one of 'reviews.csv'" in told


# --- damage, and the fix ----------------------------------------------------------------------------------------------


def test_what_an_analysis_wrote_can_be_moved_away_and_written_again(capsys, here):
    for name in ("results.json", "analysis.safetensors", "states.safetensors"):
        file = here / "analyzed" / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-20])
        told = refused(capsys, "export", "analyzed", "--to", "x")
        assert f"analyzed/{name}' is damaged" in told and "or move it away and analyze again" in told
        file.write_bytes(whole)
        file.rename(here / name)
        rnnlens.analyze("analyzed", starts=200).save()


def test_a_finished_run_without_its_weights_is_not_told_to_resume(capsys, here):
    (here / "run" / "weights.safetensors").unlink()
    for line in (["probe", "run", "good"], ["train", "corpus", "--out", "run", *SMALL, "--resume"]):
        told = refused(capsys, *line)
        assert "weights.safetensors': No such file" in told and "or train again in another folder" in told
    about = json.loads((here / "run" / "run.json").read_text())
    assert about["status"] == "finished"


def test_a_file_that_may_not_be_read_is_not_to_be_made_again(here, monkeypatch):
    opened = os.open

    def forbidden(path, *given, **how):
        if str(path).endswith((".npy", "weights.safetensors")):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *given, **how)

    monkeypatch.setattr(os, "open", forbidden)
    for read in (rnnlens.load, rnnlens.load_corpus):
        with pytest.raises(RnnlensError, match="cannot read .*: Permission denied$"):
            read("run" if read is rnnlens.load else "corpus")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a b"), "'a b': Permission denied; choose a path that you"),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot read or write the output: No space left"),
        (KeyboardInterrupt(), "run the same command again, with --resume if it has this flag"),
        (MemoryError(), "out of memory: try fewer or shorter texts, smaller batches or a smaller network"),
        (UnwrittenError("run", "No space left", errno.ENOSPC), "make room, then run the same command again, with --re"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_the_system_say_what_to_do_in_every_command(capsys, error, said):
    def command():
        raise error

    assert exit_code_of(command) == 1
    assert said in capsys.readouterr().err


# --- interruptions and pipes ------------------------------------------------------------------------------------------


def test_ctrl_c_while_the_command_line_is_imported_is_one_line(tmp_path):
    """A module on the path that waits, in place of one that the command line imports."""
    (tmp_path / "cyclopts.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", "from rnnlens.cli import main; main(['info', 'x'])"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "importing\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_a_command_goes_on_when_nobody_reads_its_output_any_more(tmp_path):
    """As in `rnnlens analyze run | head -1`: the lines and tables go nowhere, and the report is written."""
    code = "from rnnlens.common.terminal import say, show, table_of\n"
    code += "for _ in range(3): say('x', flush=True); show(table_of('x'))\nopen('report', 'w').close()"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() == 0 and (tmp_path / "report").exists()


# --- training ---------------------------------------------------------------------------------------------------------


def test_a_missing_test_split_is_told_before_training(capsys, here):
    assert call(capsys, "prepare", "reviews.csv", "--out", "c", "--test", 0, "--validation", 0)[0] == 0
    assert "leave test (--test) out" in refused(capsys, "train", "c", "--out", "r", *SMALL, "--test")
    assert not Path("r").exists()
    code, told = call(capsys, "train", "c", "--out", "r", *SMALL)
    assert code == 0 and told.endswith("next: rnnlens analyze r\n")  # with this corpus it would be refused


def test_a_training_that_stops_early_says_so_and_fills_its_bar(capsys, here, monkeypatch):
    from contextlib import contextmanager

    from rnnlens.training import loop

    done = []

    @contextmanager
    def bar(title, total, shown=True, before=0):
        done.append(total)
        yield lambda step=1, note=None: done.append(-step)

    monkeypatch.setattr(loop, "progress_bar", bar)
    _, told = call(capsys, "train", "corpus", "--out", "r", *SMALL[:4], "--epochs", 50, "--patience", 1)
    assert re.search(r"stopped after epoch \d+ of 50: validation accuracy had not risen for 1 epoch\n", told)
    assert sum(done) == 0


@pytest.mark.parametrize(("accuracy", "said"), [(0.4, "no better than"), (0.52, "hardly better than")])
def test_a_hint_after_training_fits_the_numbers_and_the_network(here, accuracy, said):
    from rnnlens.training.command import _hint

    run, corpus = rnnlens.load("run"), rnnlens.load_corpus("corpus")
    run.results["accuracy"]["validation"] = accuracy
    assert said in _hint(run, corpus) and "--tuned" in _hint(run, corpus) and "--start" in _hint(run, corpus)
    assert "--tuned" not in _hint(run, corpus, tuned=True)  # they were used
    run.about["network"]["arch"] = "mamba"  # it has no bundled settings
    corpus.about["reversed"] = "x"  # and no packaged network reads this way
    assert "--tuned" not in _hint(run, corpus) and "--start" not in _hint(run, corpus)


def test_a_hint_after_training_suggests_nothing_that_was_done_or_cannot_help(here):
    from rnnlens.training.command import _hint

    run, corpus = rnnlens.load("run"), rnnlens.load_corpus("corpus")
    run.results["accuracy"]["validation"] = 0.4
    assert "--scale 0.1 --memory 100 --learning-rate 0.01" in _hint(run, corpus)
    run.about["network"] |= {"scale": 0.1, "memory": 100.0}
    run.about["config"]["learning_rate"] = 0.01
    assert "--scale" not in _hint(run, corpus)
    foreign = Vocab([f"zz{i}" for i in range(len(corpus.vocab))], corpus.vocab.counts)
    corpus = rnnlens.Corpus.from_ids(foreign, ([[0]] * 4, [0, 1] * 2), validation=([[0]] * 4, [0, 1] * 2))
    assert "--start" not in _hint(run, corpus)  # the packaged networks know none of these words


@pytest.mark.parametrize(
    ("text", "flags", "start"),
    [("the film was not good", [], True), ("the film was not good", ["--reverse"], False), ("zzgora nnblu", [], False)],
)
def test_of_few_texts_the_next_command_starts_from_a_packaged_network_if_it_can(capsys, here, text, flags, start):
    rows = "".join(f"{text} {['bad', 'fine'][i % 2] if start else 'xyz'},{i % 2}\n" for i in range(40))
    Path("few.csv").write_text(f"text,label\n{rows}")
    _, told = call(capsys, "prepare", "few.csv", "--min-count", 1, "--out", "f c", *flags)
    last = told.splitlines()[-1]
    assert "training texts are few" in told and ("--start zoo:reviews-gru" in last) == start
    assert shlex.split(last)[-1] == "runs/f c"


@pytest.mark.parametrize("labels", [[1, 2, 3, 4], [1, 3, 5, 5]])
def test_numbers_of_classes_that_do_not_begin_at_0_are_taken_as_the_error_says(labels):
    texts, labels = ["good film", "bad film", "very good", "not good"] * 20, labels * 20
    with pytest.raises(RnnlensError, match=r"as names, list\(map\(str, labels\)\), or 0, 1, 2 … with classes="):
        rnnlens.Corpus.from_texts(texts, labels)
    names = tuple(sorted(set(map(str, labels))))
    assert rnnlens.Corpus.from_texts(texts, list(map(str, labels)), ordered=True).classes == names
    with pytest.raises(RnnlensError, match=f"expected 0 … {len(names) - 1}, the numbers of the classes, or their"):
        rnnlens.Corpus.from_texts(texts, labels, classes=names)


def test_unknown_words_are_no_words_that_a_packaged_network_knows(here):
    rare = [f"zz{i}a zz{i}b zz{i}c nnblu gora" for i in range(40)]  # most occur once and are <unk>
    corpus = rnnlens.Corpus.from_texts(rare, [0, 1] * 20, min_count=2)
    assert corpus.vocab.counts[corpus.vocab.unk] > corpus.vocab.counts.sum() / 2
    assert not zoo.suits("reviews-gru", corpus)


def test_agreement_over_too_few_words_is_said_to_be_none_instead_of_an_empty_table(capsys, tmp_path):
    shutil.copytree(Path(__file__).parent / "data" / "toy-gru", tmp_path / "toy")
    code, told = call(capsys, "agree", tmp_path / "toy")
    assert code == 0 and "largest differences" not in told
    assert "toy knows fewer than 5 words with 20 phrases: there is no correlation" in told


def test_a_network_of_one_word_is_told_that_it_has_no_probe_words():
    network = Network(Vocab(["<unk>", "film"], [1, 9]), hidden=4, embedding=2)
    for command in (rnnlens.audit, rnnlens.agreement):
        with pytest.raises(RnnlensError, match="knows 1 word that can be probes: expected at least 2"):
            command(network)


def test_a_run_is_not_resumed_on_another_corpus_whose_name_is_told(capsys, here):
    Path("other.csv").write_text("".join(Path("reviews.csv").read_text().splitlines(True)[:41]))
    told = refused(capsys, "train", "other.csv", "--out", "run", *SMALL, "--resume")
    assert "was trained on the corpus 'reviews.csv', and not on this one, 'other.csv'; use the same corpus" in told
    Path("classes.csv").write_text("text,label\n" + "".join(f"a fine film,{'xyz'[i % 3]}\n" for i in range(60)))
    assert "not on this one, 'classes.csv'" in refused(
        capsys, "train", "classes.csv", "--out", "run", *SMALL, "--resume"
    )
    assert call(capsys, "prepare", "reviews.csv", "--out", "again", "--max-words", 3)[0] == 0
    told = refused(capsys, "train", "again", "--out", "run", *SMALL, "--resume")
    assert "on the corpus 'reviews.csv', with other content or options" in told


def test_a_figure_that_needs_a_corpus_says_what_needs_it(here):
    from rnnlens import figures

    results = {name: part for name, part in rnnlens.load("analyzed").results.items() if name != "steering"}
    with pytest.raises(RnnlensError, match=r"no 'steering': the dose-response needs a corpus; run `rnnlens analyze"):
        figures.dose_response(results)
    with pytest.raises(RnnlensError, match=r"no 'accuracy': accuracy experiments need a corpus; run `rnnlens analyze"):
        figures.perturbation({})


def test_of_a_network_that_reads_both_ways_the_other_reader_is_named_for_a_comparison(tmp_path):
    words = Vocab(["<unk>", *(f"w{i}" for i in range(30))])
    both = rnnlens.BothWays.untrained(words, hidden=8, embedding=4)
    other = rnnlens.analyze(Network(words, hidden=4, embedding=4), starts=30)
    back = rnnlens.analyze(both, direction="backwards", starts=30)
    with pytest.raises(RnnlensError, match=r"\(its reader backwards\) reads from the last .* --direction forwards`"):
        rnnlens.report([back, other], tmp_path / "page.html")


def test_modifiers_of_a_run_without_a_clear_one_are_warned_of(here):
    from rnnlens.experiments.modifier_words import read_modifiers

    with pytest.warns(RnnlensWarning, match="no word is clearly a modifier in 'analyzed', and the 3 most certain"):
        assert len(read_modifiers("analyzed", 3)) == 3


# --- the verdict and the page -----------------------------------------------------------------------------------------


def row(word, strength, kind, error=0.05, valence=0.0):
    return {"word": word, "strength": strength, "error": error, "kind": kind, "valence": valence, "tau": 1.0}


def results_of(*rows, n=1, unclear=0, spread=3.0, **more):
    modifiers = {"words": list(rows), "n": n, "of": 500, "unclear": unclear}
    return {"modifiers": modifiers, "blank_input": {"spread": [spread]}, **more}


def measured_on(n, before, shuffled=-0.01, half=0.02):
    difference = {"difference": shuffled, "interval": [shuffled - half, shuffled + half], "n": n, "before": before}
    return {"test_shuffled": difference, "test_subspace_removed": {}, "test_random_removed": {}}


def verdict_of(results):
    from rnnlens.analysis.verdict import verdict

    return [sentence.text for sentence in verdict(results)]


def test_a_well_known_negator_is_described_even_if_its_own_effect_makes_it_a_valence_word():
    """*but* is a clear negator and *not* a valence word, as in networks with a convolution: readers ask about *not*."""
    but, no = row("but", -0.9, "negator"), row("not", -0.6, "valence", valence=-2.0)
    first = verdict_of(results_of(but, no))[0]
    assert first.startswith("*not* takes 60 % of the next word's effect away (strength −0.60 ± 0.05)")
    assert "its own effect (−2.0 logits) is larger and makes it a valence word" in first
    first = verdict_of(results_of(but, row("not", -0.1, "unclear", 0.2)))[0]
    assert first.startswith("*but* removes the effect") and "which no well-known negator clearly does" in first
    assert "well-known" not in verdict_of(results_of(but))[0]  # it knows no English negator
    told = verdict_of(results_of(row("great", -0.6, "valence", valence=3.0), n=0, unclear=1))[0]
    assert told.startswith("No word clearly changes the words after it by more than its own effect (1 may)")


def test_of_the_toy_language_no_corpus_is_asked_for_since_there_is_none(tmp_path):
    shutil.copytree(Path(__file__).parent / "data" / "toy-gru", tmp_path / "toy")
    analysis = rnnlens.analyze(tmp_path / "toy", starts=50)
    assert not any("--corpus" in sentence.text for sentence in analysis.verdict)
    page = rnnlens.report(analysis).read_text(encoding="utf-8")
    assert "depends on context was not measured" not in page and "Claims about accuracy need a corpus" not in page
    assert "--corpus CORPUS" in " ".join(verdict_of(results_of()))


@pytest.mark.parametrize(
    ("results", "said", "unsaid"),
    [
        (results_of(row("a", -0.3, "diminisher"), spread=0.1), "it has learned little, or nothing", "no word"),
        (results_of(n=0, accuracy=measured_on(400, 0.52)), "52.0 % of 400 reviews correctly, which is not", "bag of"),
        (results_of(accuracy=measured_on(400, 0.12)), "clearly worse than guessing: check that the labels", "better"),
        (results_of(n=0, accuracy=measured_on(400, 0.9)), "reads much like a bag of words", "guessing"),
        (results_of(row("not", -1, "negator"), unclear=0), "1 of 500 words is a clear modifier.", "0 more"),
        (
            results_of(people={"r": 0.1, "low": -0.1, "high": 0.3, "words": 90, "ceiling": None}),
            "do not clearly correlate with people's judgments: r = 0.10",
            "judgments at",
        ),
        (results_of(row("not", -6.7, "negator")), "flips the effect of the next word and makes it 5.7 times as", "%"),
        (
            results_of(row("not", -0.7, "negator"), phrases={"not bad": -0.98}),
            '"not bad" is read as negative (−1.0)',
            "neutral",
        ),
        (
            results_of(accuracy=measured_on(400, 0.9), analysis={"two_classes": ["ham", "spam"]}),
            "measured on 400 texts",
            "review",
        ),
        (
            results_of(layers={"parts": ["a buffer", "a state"], "keeps": [-0.0002, 1.2], "words": []}),
            "a buffer (0 %), a state (120 %)",
            "−0",
        ),
    ],
    ids=["alike", "guessing", "reversed", "bag of words", "one", "people", "strong", "rounded", "texts", "layers"],
)
def test_in_short_claims_only_what_the_numbers_show(results, said, unsaid):
    text = " ".join(verdict_of(results))
    assert said in text and unsaid not in text


def test_no_claim_is_shown_by_an_interval_that_includes_zero_or_a_list_that_holds_every_word():
    from rnnlens.analysis.paper_claims import known_by_norm, shuffling_costs

    few = {"accuracy": measured_on(12, 0.8, shuffled=-0.08, half=0.2)}
    assert shuffling_costs(few)[0] is False
    words = [{**row("not", -1, "negator"), "norm": 1.0}]
    assert known_by_norm({"modifiers": {"words": words, "of": 40, "threshold": 0.1}}) is None


@pytest.mark.parametrize(
    ("section", "part", "said"),
    [
        ("subspace", {"explained_variance": [1.0]}, "One component holds 100 %"),
        ("ending", {"ratio_median": 1.16}, "In the long run the median word has 116 % of its effect at once"),
        ("bilinear", {"held_out": [-3.0, 0.1, 0.4]}, "One term explains nothing of how modifiers change effects, thr"),
        ("negation", {"shift_explained": -1.0, "factor_explained": -0.5}, "Neither a factor nor a shift explains it"),
    ],
)
def test_a_finding_is_true_of_weak_networks_too(section, part, said):
    from rnnlens.page.findings import finding

    results = {"modifiers": {"negation_form": part}} if section == "negation" else {section: part}
    assert finding(section, results, ()).startswith(said)


def test_texts_with_classes_are_not_called_reviews_and_leads_are_not_findings():
    import tomllib

    from rnnlens.common.sides import named_sides
    from rnnlens.page import sections

    assert named_sides("").texts == "reviews"
    for sides in (named_sides("joy"), named_sides("", ["ham", "spam"]), named_sides("1 to 5", scale=["1", "5"])):
        assert sides.texts == "texts"
    content = tomllib.loads(Path(sections.__file__).with_name("analysis.toml").read_text(encoding="utf-8"))
    leads = {section["id"]: section["text"] for section in content["section"]}
    assert not any("review" in text for text in leads.values())
    for name in ("subspace", "perturbation", "line", "impulse", "beginning", "ending"):  # claims, with a table beside
        assert "n the paper, " in leads[name]


def test_figures_of_classes_say_texts(here):
    from rnnlens import figures

    run = rnnlens.load("analyzed")
    results = {**run.results, "analysis": {**run.results["analysis"], "class": "joy"}}
    for draw in (figures.line_attractor, figures.perturbation, figures.ending):
        assert "review" in draw(run.results).to_json() or draw is figures.ending
        assert "review" not in draw(results).to_json()


def test_a_command_that_finds_no_modifier_leaves_the_reasons_to_the_verdict(capsys):
    from rnnlens.cli.analysis import _show_modifiers

    class Nothing:
        def strongest(self, *_):
            return []

    for n, said in ((7, " (7 are unclear)"), (1, " (1 is unclear)"), (0, "")):
        _show_modifiers(Nothing(), n)
        assert capsys.readouterr().out == f"no word is clearly a modifier{said}\n"


def test_a_warning_about_h_star_gives_what_it_is_compared_with():
    from types import SimpleNamespace

    import torch

    from rnnlens.analysis.locate import warnings_of
    from rnnlens.context.blank import BlankInput

    line = SimpleNamespace(range=(0.85, 0.91), is_line=False, explained=0.8999, h_star=torch.tensor(0.88))
    told = warnings_of(BlankInput(1.0, 0.0, (3.0, 3.0, 3.0)), line, SimpleNamespace(logit=lambda h: h))
    assert told[0].endswith("a curve explains 89 % of their variance")
    assert "h* reads +0.88, and the others from +0.85 to +0.91" in told[1]


@pytest.mark.parametrize(
    ("low", "high", "at", "spread", "biased"),
    [
        (0.0035, 0.0038, 0.0037, 0.12, False),  # untrained: the slow points are one
        (0.24, 0.25, 0.24, 0.12, True),
        (0.24, 0.25, 0.24, 3.0, False),  # readings forget, but reach far beyond
        (-3.0, 3.0, 0.5, 3.0, False),
        (0.7, 5.0, 0.7, 3.0, True),
    ],
)
def test_h_star_is_called_biased_by_the_size_of_readings(low, high, at, spread, biased):
    from types import SimpleNamespace

    import torch

    from rnnlens.analysis.locate import warnings_of
    from rnnlens.context.blank import BlankInput

    line = SimpleNamespace(range=(low, high), is_line=True, explained=1.0, h_star=torch.tensor(at))
    told = warnings_of(BlankInput(1.0, 0.0, (spread, 0.0, 0.0)), line, SimpleNamespace(logit=lambda h: h))
    assert any("biased state" in warning for warning in told) == biased


# --- single commands and functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("123", "stars (1, 2 negative; 3 dropped); expected both classes; or take every value as a class"),
        ("0", "0/1 (0 negative); expected both classes"),
    ],
)
def test_a_class_without_reviews_is_explained_by_how_labels_are_read(capsys, tmp_path, monkeypatch, labels, said):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"word number {i},{labels[i % len(labels)]}\n" for i in range(30))
    Path("x.csv").write_text(f"text,label\n{rows}")
    told = refused(capsys, "prepare", "x.csv", "--out", "c")
    assert f"no positive review to train on: its labels are read as {said}" in told
    if len(labels) > 1:
        assert call(capsys, "prepare", "x.csv", "--out", "c", "--classes", "--min-count", 1)[0] == 0


def test_several_classes_and_both_directions_are_refused_with_what_python_takes():
    many = rnnlens.Network(["a", "b"], hidden=4, embedding=2, classes=["joy", "fear", "anger"])
    both = rnnlens.BothWays.untrained(["a", "b"], hidden=4, embedding=2)
    for measure in (rnnlens.audit, rnnlens.agreement):
        with pytest.raises(
            RnnlensError, match=r"positive and negative texts, .* 3 classes: .*network\.of_class\('joy'\)"
        ):
            measure(many)
    with pytest.raises(RnnlensError, match=r"reads both ways, .* in Python, pass run\.network\.forwards"):
        rnnlens.agreement(both)


def test_half_precision_is_refused_wherever_it_would_fail(tmp_path):
    import torch

    corpus = rnnlens.toy_corpus(train=8, validation=4)
    network = rnnlens.Network(corpus.vocab, hidden=4, embedding=2).half()
    states = torch.zeros(3, 4, dtype=torch.float16)
    for use in (
        lambda: rnnlens.find_fixed_points(network, states),
        lambda: rnnlens.train(network, corpus, out=tmp_path / "run"),
        lambda: rnnlens.analyze(network),
    ):
        with pytest.raises(RnnlensError, match=r"is torch.float16: expected .*; use network\.float\(\)"):
            use()


def test_a_full_disk_is_not_a_missing_chrome(tmp_path, monkeypatch):
    from plotly.graph_objects import Figure

    from rnnlens.figures import style

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(style, "picture", lambda *_: b"<svg")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RnnlensError, match="No space left on device.*make room"):
        style.write_figure(Figure(), tmp_path / "x.svg")


def test_a_packaged_network_has_one_name_in_every_command(tmp_path):
    from rnnlens.runs.zoo import packaged

    assert packaged("zoo:reviews-gru") == packaged("reviews-gru")


def test_a_card_says_which_words_and_which_reader(here):
    from rnnlens.runs.exporting import card

    run = rnnlens.load("analyzed")
    run.results["both_ways"] = {"shown": "backwards"}
    assert "| clearest negators and diminishers, reader that reads backwards |" in card(run, "x")
    run.network.direction = "backwards"
    assert "reads a text word by word, from the last to the first." in card(run, "x")


def test_help_offers_no_flag_that_is_refused_or_means_nothing(capsys):
    assert "--seed INT" not in call(capsys, "validate", "--help")[1]  # `validate` chooses its seeds itself
    for command in ("agree", "baselines", "sweep", "reproduce", "prepare"):
        assert "--empty-" not in call(capsys, command, "--help")[1]


def test_a_csv_file_of_tabs_is_called_so(capsys, tmp_path):
    (tmp_path / "r.csv").write_text("text\tlabel\ngood\tpos\nbad\tneg\n")
    told = refused(capsys, "prepare", tmp_path / "r.csv", "--out", tmp_path / "out")
    assert "separated by tabs: rename it so that it ends in .tsv" in told
    (tmp_path / "r.csv").rename(tmp_path / "r.tsv")
    code, told = call(capsys, "prepare", tmp_path / "r.tsv", "--out", tmp_path / "out")
    assert code == 0 and "train 2; 1 word at" in told


def test_a_word_that_was_not_measured_is_told_apart_from_an_unknown_one(here):
    modifiers = rnnlens.Analysis.load("analyzed").modifiers
    with pytest.raises(RnnlensError, match="the network does not know it; check its spelling"):
        modifiers["zzz"]
    with pytest.raises(RnnlensError, match="got .*Network.*: expected a run, an analysis, or the content"):
        rnnlens.figures.barcodes(modifiers.network, ["not"])
    if not len(modifiers.selected):
        assert ":" not in repr(modifiers)


def test_a_chance_is_written_as_a_number():
    from rnnlens.context.perturbation import compare

    assert repr(compare([True] * 9, [True] * 9)).endswith("p 1)")


def test_a_finished_run_is_not_said_to_be_trained_again(capsys, here):
    line = ["train", "corpus", "--out", "new", *SMALL]
    assert "finished already" not in call(capsys, *line)[1]
    assert "this run was finished already: nothing was trained" in call(capsys, *line, "--resume")[1]


def test_a_count_of_one_is_in_the_singular():
    from rnnlens.page.sections import modifier_counts, written

    said = {"above_words": "", "below_words": "", "measured_on": "", "none_clear": "", "one_component": ""}
    for n, unclear, words in (
        (1, 1, "1 of 30 words is a clear modifier; 1 more is unclear."),
        (2, 0, "2 of 30 words are clear modifiers; 0 more are unclear."),
    ):
        counts = modifier_counts({"n": n, "of": 30, "unclear": unclear})
        assert words in written("analysis", "modifiers", **counts, **said, negators="")[0]["text"]
        assert words in written("extra", "class-modifiers", **counts, more="")[0]["text"]
    assert repr(Vocab(["a"])) == "Vocab(1 word: a)" and repr(Vocab(["a", "b"])).startswith("Vocab(2 words")
    network = Network(["<unk>", "good"], hidden=2, embedding=2)
    with pytest.warns(RnnlensWarning, match="the one word of 'qwzx' is unknown to this network, 'qwzx': its reading"):
        network.read("qwzx")
    with pytest.warns(RnnlensWarning, match="2 of the 2 words of 'qwzx aa' are unknown to this network, such as"):
        network.read("qwzx aa")
