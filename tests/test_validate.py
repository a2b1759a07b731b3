"""The method finds what is known to be there. Thresholds are what was measured, with a margin; none may be lowered
because a score got worse."""

import json
from dataclasses import replace

import pytest

from rnnlens import RnnlensError
from rnnlens.cli import main
from rnnlens.common.files import read_json
from rnnlens.corpora.language import preset
from rnnlens.experiments.recipe import Settings
from rnnlens.experiments.validate import MEASURES, summary, validate
from rnnlens.training import TrainConfig

QUICK = TrainConfig(epochs=8, learning_rate=1e-2, word_dropout=0.1, embedding_dropout=0.0)
SETTINGS = Settings("gru", 32, 16, config=QUICK)


@pytest.fixture(scope="module")
def validated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("validation") / "tiny"
    return folder, validate("tiny", folder, SETTINGS, seeds=1, device="cpu")


def test_strength_finds_the_modifiers_and_the_norm_does_not(validated):
    found = {name: one["value"] for name, one in validated[1]["networks"][0]["average_precision"].items()}
    assert found["strength"] >= 0.9 and found["order"] >= 0.9  # measured: 0.99, 1.00
    assert found["norm"] <= found["strength"] - 0.2  # 0.59


def test_strengths_and_kinds_are_near_the_truth(validated):
    found = validated[1]["networks"][0]
    assert found["strength"]["r"] >= 0.97  # measured: 0.998
    assert 0.4 <= found["strength"]["slope"] <= 1.2  # 0.55: a state that saturates flips less
    assert found["kinds"]["right"] >= 0.8  # 1.0


def test_removing_the_subspace_removes_the_modification_and_nothing_else(validated):
    causes = validated[1]["networks"][0]["causes"]
    removed = causes["removed"]["3"]
    assert causes["before"]["modification"] >= 0.65  # measured: 0.74
    assert abs(removed["modification"]) <= 0.25  # 0.14
    assert 0.8 <= removed["valence_kept"] <= 1.25  # 0.89
    for random in causes["random"]:
        assert random["modification"] >= 0.5


def test_every_true_modifier_is_stored_with_its_measures(validated):
    folder, found = validated
    assert read_json(folder / "validation.json") == found
    assert len(found["modifiers"]) == found["networks"][0]["modifiers"] == 10
    assert {"word", "true_strength", "strength", "error", "kind"} < set(found["modifiers"][0])
    assert [row[0] for row in summary(found)] == list(MEASURES) and all(row[2] == "–" for row in summary(found))


def test_what_is_finished_is_used_again(validated):
    folder, before = validated
    marks = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix in (".safetensors", ".npy")}
    again = validate("tiny", folder, SETTINGS, seeds=1, device="cpu")
    assert marks == {path: path.stat().st_mtime_ns for path in marks}
    assert {**again, "seconds": 0} == {**before, "seconds": 0}


def test_a_folder_of_other_networks_is_not_used(validated):
    with pytest.raises(RnnlensError, match="other"):
        validate("tiny", validated[0], Settings("gru", 24, 16, config=QUICK), seeds=1, device="cpu")


def test_a_language_without_test_documents_is_refused(tmp_path):
    with pytest.raises(RnnlensError, match="no test documents"):
        validate(replace(preset("tiny"), test=0), tmp_path / "o", SETTINGS, seeds=1, device="cpu")
    assert not (tmp_path / "o").exists()


def test_the_command_says_what_is_wrong(capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["validate", "--out", str(tmp_path / "x"), "--preset", "huge"])
    assert stop.value.code == 2 and "huge" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["validate", "--out", str(tmp_path / "x"), "--preset", "tiny", "--seeds", "0"])
    assert stop.value.code == 1 and "seeds is 0" in capsys.readouterr().err


def test_several_networks_give_a_consensus(tmp_path):
    """Short trainings suffice to see that every part is there: two seeds, from the command line."""
    main_arguments = ["validate", "--preset", "tiny", "--documents", "1000", "--seeds", "2", "--hidden", "8"]
    with pytest.raises(SystemExit) as stop:
        main([*main_arguments, "--embedding", "4", "--epochs", "1", "--device", "cpu", "--out", str(tmp_path / "o")])
    assert not stop.value.code
    found = json.loads((tmp_path / "o" / "validation.json").read_text())
    assert len(found["networks"]) == 2 and "causes" not in found["consensus"]
    assert 0 <= found["consensus"]["coverage"]["seeds"] <= 1
