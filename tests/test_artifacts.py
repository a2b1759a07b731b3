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
from rnnlens.common import files
from rnnlens.common.files import (
    HOST,
    append_line,
    atomic_file,
    read_json,
    read_lines,
    read_tensors,
    rewrite_lines,
    sweep_temporaries,
    write_json,
    write_tensors,
)
from rnnlens.common.replacing import FolderKind, atomic_folder

KIND = FolderKind("a test", frozenset(["old", "new", "mark"]), {"mark": b"ours"})


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
        with atomic_folder(tmp_path / "folder", KIND) as temporary:
            (temporary / content).write_text(content)
            (temporary / "mark").write_text("ours")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["mark", "new"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_leftovers_of_killed_processes_are_swept(tmp_path):
    code = (
        "import os, signal\nfrom rnnlens.common.files import atomic_file\n"
        "from rnnlens.common.replacing import atomic_folder\n"
        f"with atomic_folder({str(tmp_path / 'corpus')!r}), atomic_file({str(tmp_path / 'x.json')!r}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (tmp_path / "keep.tmp").write_text("mine")
    assert len(list(tmp_path.iterdir())) == 3
    with subprocess.Popen(["sleep", "60"]) as alive:
        theirs = tmp_path / f".y.json.{HOST}-{alive.pid}-0.tmp"
        theirs.write_text("another process is writing this")
        sweep_temporaries(tmp_path)
        alive.kill()
    assert {path.name for path in tmp_path.iterdir()} == {"keep.tmp", theirs.name}


def test_a_folder_is_held_against_others_but_not_against_oneself(tmp_path):
    with files.exclusive(tmp_path):
        with files.exclusive(tmp_path, wait=True):
            pass
        code = f"from rnnlens.common.files import exclusive\nwith exclusive({str(tmp_path)!r}): pass"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "in use by another rnnlens process" in other.stderr


def test_a_file_system_without_locks_can_be_written(tmp_path, monkeypatch):
    import fcntl

    def refuses(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with files.exclusive(tmp_path):
        pass


def test_the_folder_one_stands_in_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with atomic_folder(".") as temporary:
        assert temporary.parent == tmp_path
        (temporary / "new").write_text("new")
    assert (tmp_path / "here" / "new").exists()
    with pytest.raises(RnnlensError, match="cannot write '.'"), atomic_file(".") as temporary:
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


LINES = [
    {"epoch": 1, "loss": 0.5, "name": "größer"},
    {"epoch": 2, "loss": np.float32(0.25)},
    {"epoch": 3, "loss": 1e-7},
]
WHOLE = [{**line, "loss": float(line["loss"])} for line in LINES]


def test_lines_come_back_as_they_were(tmp_path):
    path = tmp_path / "history.jsonl"
    assert read_lines(path) == []
    for line in LINES:
        append_line(path, line)
    assert read_lines(path) == WHOLE
    assert all(json.loads(line)["fingerprint"] for line in path.read_text().splitlines())
    rewrite_lines(path, read_lines(path)[:2])
    assert read_lines(path) == WHOLE[:2]
    append_line(path, {"epoch": 3, "loss": float("nan")})
    assert np.isnan(read_lines(path)[-1]["loss"]), "a diverged run has a history too"


def test_torn_and_altered_lines_are_passed_over(tmp_path):
    path, generator = tmp_path / "history.jsonl", np.random.default_rng(0)
    rewrite_lines(path, LINES)
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position])
        assert read_lines(path) in (WHOLE[:0], WHOLE[:1], WHOLE[:2], WHOLE)
        append_line(path, LINES[2])
        assert read_lines(path)[-1] == WHOLE[2], "a torn line takes no later one with it"
        for damaged in (_flip(whole, position, generator), whole[:position] + b"\xff\xfe" + whole[position:]):
            path.write_bytes(damaged)
            assert all(line in WHOLE for line in read_lines(path)) and len(read_lines(path)) >= 1
    path.write_bytes(b"[" * 100_000 + b"\n7\n\xff\n{}\n" + whole)
    assert read_lines(path) == WHOLE


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


def test_a_run_is_not_loaded_by_pickle(run, tmp_path):
    """Loading imports no unpickler of torch's, and opening a folder never executes what is in it."""
    code = (
        "import pickle, sys, rnnlens\n"
        "pickle.Unpickler = pickle.load = pickle.loads = None\n"
        f"rnnlens.load({str(run)!r}).network.read('not good')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
