"""Whatever bytes a loader is given, it takes them or refuses in one line: no crash, no hang, no memory, no code.
`python -m studies.fuzz` does the same for as long as one likes, led by coverage."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import pickle
import resource
import struct
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.fuzz_targets import TARGETS, genuine, make_scene, refused

from rnnlens import RnnlensError
from rnnlens.corpora import prepare

SEALED = [name for name in TARGETS if (name.endswith(".json") and "/" in name) or name == "settings.json"]
TENSORS = ["run/weights.safetensors", "run/analysis.safetensors", "run/checkpoint", "baseline/weights"]
MORE = int(os.environ.get("RNNLENS_FUZZ", 1))  # times as many examples
LONG = 20.0  # seconds: what takes longer hangs


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "scene"
    make_scene(folder)
    return folder


def few(examples: int) -> Callable[[Any], Any]:
    """As many examples, the same ones every time."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


PIECES = (b"{", b"[", b'"', b"\n", b",", b"\t", b"NaN", b"1e999", b"-1", b"9" * 30, b"\xff", b"\0" * 9, b"null", b"\r")
edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.floats(0, 0.2), st.binary(max_size=4) | st.sampled_from(PIECES)
    ),
    max_size=6,
)  # fmt: skip


def edited(data: bytes, changes: list[tuple[float, float, bytes]]) -> bytes:
    """Stretches of some bytes, each replaced by others."""
    for at, length, piece in changes:
        start = int(at * len(data))
        data = data[:start] + piece + data[start + int(length * length * len(data)) :]
    return data


@pytest.mark.parametrize("name", TARGETS)
@few(20 * MORE)
@given(changes=edits)
@example(changes=[])
@example(changes=[(0.0, 1.0, b"")])
@example(changes=[(0.5, 1.0, b"")])
@example(changes=[(0.0, 1.0, b"[" * 100_000)])
def test_any_bytes_are_taken_or_refused_in_one_line(name: str, scene: Path, changes: list) -> None:
    began = time.monotonic()
    said = refused(TARGETS[name], scene, edited(genuine(name, scene), changes))
    assert said is None or changes, f"what it is meant for is refused: {said}"
    assert time.monotonic() - began < LONG


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
GONE = object()


@pytest.mark.parametrize("name", SEALED)
@few(30 * MORE)
@given(where=st.lists(st.integers(0, 30), min_size=1, max_size=4), value=values | st.just(GONE))
def test_a_forged_file_with_the_right_fingerprint_is_taken_or_refused(
    name: str, scene: Path, where: list[int], value: object
) -> None:
    """One value anywhere in it replaced or taken out."""
    content = json.loads(genuine(name, scene))
    inside: Any = content
    for depth, index in enumerate(where):
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            break
        key = keys[index % len(keys)]
        if depth == len(where) - 1 or not isinstance(inside[key], dict | list):
            if value is GONE:
                del inside[key]
            else:
                inside[key] = copy.deepcopy(value)
            break
        inside = inside[key]
    refused(TARGETS[name], scene, json.dumps(content).encode())


KINDS = ("f2", "f4", "f8", "i1", "u1", "i4", "i8", "u8", "?")


@pytest.mark.parametrize("name", TENSORS)
@few(20 * MORE)
@given(
    which=st.integers(0, 30),
    kind=st.sampled_from(KINDS),
    shape=st.none() | st.lists(st.integers(0, 5), max_size=3),
    fill=st.sampled_from([0, 1, 3, 100]),
)
def test_forged_tensors_are_taken_or_refused(
    name: str, scene: Path, which: int, kind: str, shape: list[int] | None, fill: int
) -> None:
    from safetensors.numpy import load, save

    arrays = dict(sorted(load(genuine(name, scene)).items()))
    chosen = list(arrays)[which % len(arrays)]
    if shape is None:
        del arrays[chosen]
    else:
        arrays[chosen] = np.full(shape, fill).astype(kind)
    refused(TARGETS[name], scene, save(arrays, metadata={"about": about_of(name, scene)}))


def about_of(name: str, scene: Path) -> str:
    data = genuine(name, scene)
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["about"]


# --- files that claim more than they hold -----------------------------------------------------------------------------


def npy(shape: tuple[int, ...], kind: str = "<i8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + b"\0" * 64


def header(kind: str, length: int, end: int) -> bytes:
    """A safetensors file of 64 bytes that says it has a tensor of another length."""
    tensor = {"dtype": kind, "shape": [length], "data_offsets": [0, end]}
    text = json.dumps({"__metadata__": {"about": "{}", "fingerprint": "x"}, "a": tensor}).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * 64


def entry(**fields: Any) -> bytes:
    """A tar whose one entry has some fields of its own."""
    made = tarfile.TarInfo("aclImdb/train/pos/1_9.txt")
    for name, value in fields.items():
        setattr(made, name, value)
    return made.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048


def sparse() -> bytes:
    """A sparse entry that says it is a terabyte."""
    head = bytearray(entry(type=tarfile.GNUTYPE_SPARSE))
    head[483:495] = tarfile.itn(1 << 40, 12, tarfile.GNU_FORMAT)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head[:512])
    return bytes(head)


def parquet(rows: int) -> bytes:
    """So many rows without a text, which take next to no bytes."""
    file = io.BytesIO()
    frame = pl.select(text=pl.repeat(None, rows, dtype=pl.String), label=pl.repeat(1, rows, dtype=pl.UInt8))
    frame.write_parquet(file, compression="zstd", row_group_size=rows)
    return file.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zipped csv": ("source.csv", lambda: gzip.compress(b"text,label\n" + b"\n" * (64 << 20), 1), "is compressed"),
    "many columns": ("source.csv", lambda: b"c," * 100_000 + b"\n", "columns"),
    "deep jsonl": ("source.jsonl", lambda: b'{"text":' * 100_000, "cannot read"),
    "deep json": ("json", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "is not complete JSON"),
    "a long number": ("json", lambda: b'{"fingerprint": "", "a": ' + b"9" * 100_000 + b"}", "is not complete JSON"),
    "many rows": ("source.parquet", lambda: parquet(3_000_000), "claims 3,000,000 rows"),
    "a long entry": ("source.tar", lambda: entry(size=1 << 40), "claims 1,099,511,627,776 bytes"),
    "a sparse entry": ("source.tar", sparse, "claims 1,099,511,627,776 bytes"),
    "a long name": ("source.tar.gz", lambda: entry(type=tarfile.GNUTYPE_LONGNAME, size=1 << 30), "claims 1073741824"),
    "a negative size": ("source.tar", lambda: entry(size=-512) * 2, "claims -512"),
    "long tensors": ("safetensors", lambda: header("F32", 1 << 40, 64), "not a complete safetensors file"),
    "tensors past the end": ("safetensors", lambda: header("U8", 1 << 40, 1 << 40), "not a complete safetensors file"),
    "a long header": ("safetensors", lambda: struct.pack("<Q", 1 << 60) + b"{}", "not a complete safetensors file"),
    "long labels": ("corpus/train.labels.npy", lambda: npy((1 << 40,), "|u1"), "not a complete .npy file"),
    "long offsets": ("corpus/train.offsets.npy", lambda: npy((1 << 60,)), "not a complete .npy file"),
    "a flat table": ("corpus/train.labels.npy", lambda: npy((2, 4), "|u1"), "expected a row of whole numbers"),
}  # fmt: skip


@pytest.fixture
def no_more_memory() -> Iterator[None]:
    """A gigabyte of address space more than now, and then no more."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs Linux to say how much memory there is now")
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_file_that_claims_more_than_it_holds_takes_no_memory(bomb: str, scene: Path, no_more_memory: None) -> None:
    name, make, expected = BOMBS[bomb]
    data, began = make(), time.monotonic()
    said = refused(TARGETS[name], scene, data)
    assert said and expected in said
    assert time.monotonic() - began < LONG


@pytest.mark.parametrize("shape", [{"hidden": 10**6}, {"embedding": 10**9}, {"hidden": 10**30}])
def test_a_run_that_claims_a_vast_network_takes_no_memory(shape: dict, scene: Path, no_more_memory: None) -> None:
    about = json.loads(genuine("run/run.json", scene))
    about["network"] |= shape
    said = refused(TARGETS["run/run.json"], scene, json.dumps(about).encode())
    assert said and "does not fit its run.json" in said


def test_a_baseline_that_claims_vast_weights_takes_no_memory(scene: Path, no_more_memory: None) -> None:
    about = json.loads(genuine("baseline/baseline.json", scene))
    about["options"] |= {"own_weights": True, "components": 10**9}
    said = refused(TARGETS["baseline/baseline.json"], scene, json.dumps(about).encode())
    assert said and "more than it has" in said


def test_a_review_as_long_as_a_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnnlens.corpora.tables.LONGEST", 1000)
    for name, write in (("a.csv", pl.DataFrame.write_csv), ("a.parquet", pl.DataFrame.write_parquet)):
        write(pl.DataFrame({"text": ["good", "bad " * 300], "label": [1, 0]}), tmp_path / name)
        with pytest.raises(RnnlensError, match="holds a text of 1,200 bytes: expected reviews of at most 1,000"):
            prepare(tmp_path / name, tmp_path / "corpus")


# --- and files that would rather be programs --------------------------------------------------------------------------


class Program:
    """What unpickling would run."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_nothing_in_a_folder_is_run(scene: Path, tmp_path: Path) -> None:
    import torch

    mark = tmp_path / "was here"
    pickled, array, zipped = pickle.dumps(Program(mark)), io.BytesIO(), io.BytesIO()
    np.save(array, np.array([Program(mark)], dtype=object), allow_pickle=True)
    torch.save(Program(mark), zipped)
    for name in TARGETS:
        for data in (pickled, array.getvalue(), zipped.getvalue()):
            refused(TARGETS[name], scene, data)
    assert not mark.exists()
    pickle.loads(pickled)
    assert mark.exists(), "it would have"


def test_what_a_tar_holds_is_never_unpacked(tmp_path: Path) -> None:
    """Entries that point out of it are read as any other, links not at all, and no file appears."""
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in (
            "train/pos/1_9.txt",
            "train/neg/1_1.txt",
            "../../train/pos/2_9.txt",
            f"{tmp_path}/train/neg/2.txt",
        ):
            made = tarfile.TarInfo(name)
            made.size = 4
            tar.addfile(made, io.BytesIO(b"good" if "pos" in name else b"dull"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            made = tarfile.TarInfo(f"train/pos/{kind.decode()}.txt")
            made.type, made.linkname = kind, "/etc/passwd"
            tar.addfile(made)
    corpus = prepare(tmp_path / "a.tar", tmp_path / "corpus", test=0, validation=0, min_count=1)
    assert len(corpus.train) == 4 and set(corpus.vocab.words) == {"<unk>", "good", "dull"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "corpus"]
