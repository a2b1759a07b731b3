"""What is made again from the repository: pages from records, and the few measures that only the studies have."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pages import ROOT
from reproduction import audit, errors, nulls, people, replication, study, table, toy, validation

import rnnlens
from rnnlens.corpora.splits import Split

PAGES = {
    "audit": lambda: audit.page_values(study.stored("audit")["networks"]),
    "people": lambda: people.page_values(study.stored("people")),
    "table": lambda: table.page_values({name: study.stored(f"table-{name}") for name in table.NAMES}),
    "toy": lambda: toy.page_values(study.stored("toy")),
    "validation": lambda: validation.page_values(study.stored("validation")),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_made_from_its_record(page):
    assert study.filled(f"{page}.md", **PAGES[page]()).startswith("# ")


def test_claims_are_counted_over_networks_and_null_networks():
    rows = replication.rows(study.stored("replication"), study.stored("nulls")["claims"])
    barcodes = next(row for row in rows if row["claim"].startswith("at least 90 % of the barcodes"))
    assert barcodes["shown"]["gru"] == "6/6" and barcodes["null"] == "0/6"
    assert barcodes["specific"] and barcodes["by_gated"]
    assert all(row["specific"] == row["null"].startswith(("0", "–")) for row in rows)


def test_several_measurements_are_one_text_of_means_and_ranges():
    assert replication.summary(["+1.0 points", "+3.0 points"]) == "+2.0 [+1.0, +3.0] points"
    assert replication.summary(["13 of 13", "13 of 13"]) == "13 of 13"
    assert replication.summary(["τ 1.0", "none"]) == "τ 1.0; none"


def test_labels_are_shuffled_within_each_source():
    labels = np.array([1] * 30 + [0] * 30 + [1] * 5 + [0] * 35, dtype=np.uint8)
    sources = np.repeat([0, 1], [60, 40]).astype(np.uint8)
    split = Split(np.arange(100, dtype=np.uint16), np.arange(101), labels, sources)
    corpus = rnnlens.Corpus(rnnlens.Vocab([f"w{i}" for i in range(100)]), split, None, None, {}, None, "c")
    drawn = np.asarray(nulls.shuffled(corpus, seed=1).train.labels)
    assert [drawn[sources == k].sum() for k in (0, 1)] == [30, 5]
    assert (drawn != labels).any() and (labels == split.labels).all()


def test_the_rule_for_errors_is_recovered_from_networks_that_follow_it():
    rule, read = {"most": 0.2, "half": 1.5, "power": 0.3}, (4e6, 1e6, 2.5e5)
    moves, generator = torch.linspace(0.1, 6, 3_000), torch.Generator().manual_seed(0)

    def networks(words):
        spread = rule["most"] * moves / (moves + rule["half"]) * (max(read) / words) ** rule["power"]
        network = SimpleNamespace(vocab=SimpleNamespace(counts=np.array([words])))
        strengths = [torch.randn(len(moves), generator=generator) * spread for _ in range(4)]
        return [SimpleNamespace(strength=strength, moves=moves, network=network) for strength in strengths]

    found = errors.fit([networks(words) for words in read])
    assert {name: found[name] for name in rule} == pytest.approx(rule, rel=0.1)
    assert found["words"] == max(read) and found["fewest"] == min(read)


def test_records_keep_six_digits(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "DOCS", tmp_path)
    study.store("some", {"a": [1 / 3, (2, True)], "b": None})
    assert json.loads((tmp_path / "results/some.json").read_text()) == {"a": [0.333333, [2, True]], "b": None}
    assert study.HERE == ROOT / "reproduction"
