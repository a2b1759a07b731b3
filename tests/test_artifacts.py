"""Whatever happens to a file or a process, it is told in one line, and what was whole stays whole."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, toy_corpus, train
from rnnlens.artifacts import (
    _HOST,
    atomic_file,
    atomic_folder,
    read_json,
    read_tensors,
    sweep_temporaries,
    write_json,
    write_tensors,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    corpus = toy_corpus(train=64, validation=16)
    path = tmp_path_factory.mktemp("runs") / "run"
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), path)
    return path


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(content=st.dictionaries(st.text().filter(lambda key: key != "fingerprint"), json_like, max_size=4))
def test_json_comes_back_as_it_was(tmp_path_factory, content):
    try:
        "".join(map(str, json.dumps(content, ensure_ascii=False))).encode()
    except UnicodeEncodeError:
        return
    path = tmp_path_factory.mktemp("json") / "x.json"
    write_json(path, content)
    assert read_json(path) == content


def test_tensors_come_back_as_they_were(tmp_path):
    tensors = {"a": np.arange(6.0).reshape(2, 3), "b": np.float16(3), "none": np.zeros((0, 4), np.int64)}
    write_tensors(tmp_path / "t.safetensors", tensors, {"step": 3})
    back, about = read_tensors(tmp_path / "t.safetensors")
    assert about == {"step": 3} and all(np.array_equal(back[n], tensors[n]) for n in tensors)
    assert {n: a.shape for n, a in back.items()} == {n: np.shape(a) for n, a in tensors.items()}


def test_any_flipped_byte_or_cut_of_a_run_folder_is_noticed(run, tmp_path):
    """Every file, many places: load either refuses in one line, or the change was white space."""
    generator = np.random.default_rng(0)
    for name in ("run.json", "weights.safetensors", "vocab.json", "results.json"):
        whole = (run / name).read_bytes()
        for position in generator.integers(0, len(whole), 40):
            for damaged in (_flip(whole, position, generator), whole[:position]):
                (run / name).write_bytes(damaged)
                try:
                    rnnlens.load(run)
                except RnnlensError as error:
                    assert "\n" not in str(error) and name in str(error)
                else:
                    assert json.loads(damaged) == json.loads(whole), f"{name} changed at {position}, unnoticed"
        (run / name).write_bytes(whole)
    rnnlens.load(run)


def _flip(data, position, generator):
    flipped = bytearray(data)
    flipped[position] ^= 1 << int(generator.integers(0, 8))
    return bytes(flipped)


@pytest.mark.parametrize("name", ["run.json", "weights.safetensors", "vocab.json"])
def test_a_missing_file_is_told(run, name):
    (run / name).rename(run / "away")
    with pytest.raises(RnnlensError):
        rnnlens.load(run)
    (run / "away").rename(run / name)


def test_a_failed_write_leaves_the_earlier_file_and_no_litter(tmp_path):
    write_json(tmp_path / "x.json", {"a": 1})
    with pytest.raises(RuntimeError), atomic_file(tmp_path / "x.json") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "half").write_text("half")
        raise RuntimeError
    assert read_json(tmp_path / "x.json") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "folder", replace=True) as temporary:
            (temporary / content).write_text(content)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_leftovers_of_killed_processes_are_swept(tmp_path):
    code = (
        "import os, signal\nfrom rnnlens.artifacts import atomic_file, atomic_folder\n"
        f"with atomic_folder({str(tmp_path / 'corpus')!r}), atomic_file({str(tmp_path / 'x.json')!r}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (tmp_path / "keep.tmp").write_text("mine")
    assert len(list(tmp_path.iterdir())) == 3
    with subprocess.Popen(["sleep", "60"]) as alive:
        theirs = tmp_path / f".y.json.{_HOST}-{alive.pid}-0.tmp"
        theirs.write_text("another process is writing this")
        sweep_temporaries(tmp_path)
        alive.kill()
    assert {path.name for path in tmp_path.iterdir()} == {"keep.tmp", theirs.name}


def test_an_unwritable_place_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RnnlensError, match="cannot write .*: File exists"):
        write_json(tmp_path / "file" / "x.json", {})


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_told_and_earlier_artifacts_stay(tmp_path):
    """On a disk of 1 MB: a run that fits, then one that does not."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        corpus = toy_corpus(train=32, validation=8)
        train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), disk / "small")
        with pytest.raises(RnnlensError, match="No space left on device"):
            train(Network(corpus.vocab, hidden=200, embedding=200), corpus, TrainConfig(epochs=1), disk / "large")
        assert rnnlens.load(disk / "small").results["accuracy"]
        assert not list((disk / "large").rglob("*.tmp"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_newer_schemas_are_refused_by_number(run):
    about = read_json(run / "run.json")
    write_json(run / "run.json", {**about, "schema": 99})
    with pytest.raises(RnnlensError, match="schema 99"):
        rnnlens.load(run)
    write_json(run / "run.json", about)


def test_a_run_is_not_loaded_by_pickle(run, tmp_path):
    """Loading imports no unpickler of torch's, and opening a folder never executes what is in it."""
    code = (
        "import pickle, sys, rnnlens\n"
        "pickle.Unpickler = pickle.load = pickle.loads = None\n"
        f"rnnlens.load({str(run)!r}).network.read('not good')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
