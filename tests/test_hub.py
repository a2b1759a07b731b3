"""An exported run is a hub folder: it reads as the run did, and its card is true, and harmless whatever it names."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

import rnnlens
from rnnlens import Network, TrainConfig, toy_corpus, train
from rnnlens.runs.exporting import card

HOSTILE = "<script>alert(1)</script> | `x` [a](http://evil) \n---\nlicense: stolen # *b* \u2028 \x07 'q' \"d\" {y: 1}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    corpus = toy_corpus(train=64, validation=16)
    path = tmp_path_factory.mktemp("runs") / "run"
    network = Network(corpus.vocab, arch="lstm", hidden=4, embedding=2, scale=0.5)
    return train(network, corpus, TrainConfig(epochs=1), path)


def front_matter(text):
    """The card's metadata, as the hub reads it, and its text."""
    _, head, body = re.split(r"^---$", text, maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(head), body


def test_an_export_reads_as_the_run_did(run, tmp_path):
    folder = rnnlens.export(run, tmp_path / "model")
    assert {"model.safetensors", "config.json", "vocab.json", "README.md"} <= {p.name for p in folder.iterdir()}
    back = rnnlens.load(folder)
    ids = torch.randint(len(run.vocab), (5, 12), generator=torch.Generator().manual_seed(0))
    assert torch.equal(back.network(ids), run.network(ids))
    assert back.vocab == run.vocab and back.config == run.config and back.results == run.results
    assert back.network.config == run.network.config
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "rnnlens" and config["network"] == run.about["network"]


def test_texts_of_the_corpus_stay_at_home(run, tmp_path):
    private = Path(shutil.copytree(run.path, tmp_path / "run"))
    opened = rnnlens.load(private)
    example = {"text": "a private review", "label": "positive", "logit": 1.0, "modifier": ""}
    opened.add_results(examples=[example])
    folder = rnnlens.export(private, tmp_path / "model")
    assert "a private review" in (private / "results.json").read_text()
    assert not any(b"a private review" in path.read_bytes() for path in folder.iterdir())
    assert rnnlens.load(folder).results == {**run.results}


def test_it_loads_without_transformers_and_the_hub(run, tmp_path):
    folder = rnnlens.export(run, tmp_path / "model")
    code = (
        "import sys\n"
        "for name in ('transformers', 'huggingface_hub', 'yaml', 'polars', 'cyclopts'): sys.modules[name] = None\n"
        f"import rnnlens\nprint(rnnlens.load({str(folder)!r}).network.read('not good')[-1][1])\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert float(told) == pytest.approx(run.network.read("not good")[-1][1])


def test_the_cards_numbers_are_the_runs(tmp_path):
    run = rnnlens.load("zoo:reviews-gru")
    metadata, body = front_matter(card(run, "reviews-gru", "mit"))
    assert metadata["license"] == "mit" and "datasets" not in metadata  # five sources, not all of the hub
    assert metadata["library_name"] == "rnnlens" and "gru" in metadata["tags"]
    (model,) = metadata["model-index"]
    measured = {m["name"]: m["value"] for m in model["results"][0]["metrics"]}
    assert measured == {f"{part} accuracy": run.results["accuracy"][part] for part in ("validation", "test")}
    assert f"{100 * run.results['accuracy']['test']:.2f} %" in body
    hub = pytest.importorskip("huggingface_hub")
    seen = hub.ModelCard(card(run, "reviews-gru", "mit")).data
    assert seen.eval_results[0].metric_value == run.results["accuracy"]["validation"]


def test_hostile_names_stay_text(run, tmp_path):
    about = {**run.about, "corpus": {**run.about["corpus"], "source": f"/home/me/{HOSTILE}"}}
    evil = rnnlens.Run(run.path, about)
    text = card(evil, HOSTILE, dataset=HOSTILE)
    metadata, body = front_matter(text)
    assert metadata["license"] == "unknown" and metadata["datasets"] == [HOSTILE]
    assert "/home/me" not in text
    parts = [{"name": "a", "source": "/home/me/a.csv", "weight": 1.0}]
    about["corpus"]["sources"] = parts
    folder = rnnlens.export(evil, tmp_path / "model", name=HOSTILE)
    assert "/home/me" not in (folder / "config.json").read_text() + (folder / "README.md").read_text()
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    html = markdown.render(body)
    assert "<script" not in html and "evil" in html and "<h1>&lt;script&gt;" in html
    assert re.findall(r'href="([^"]*)"', html) == ["https://arxiv.org/abs/2004.08013"]
    assert html.count("<code>") == 1 and "<em>" not in html  # `rnnlens`, which is the card's own
