"""Read and write files: each is written to a temporary name and renamed, contains its fingerprint, and is no pickle.

If a process is killed, each file is either the old or the new one, and complete. Files that belong together state each
other's fingerprints (see `provenance`).
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.common.errors import AGAIN, RnnlensError, quoted
from rnnlens.common.locks import LIMIT, take_lock
from rnnlens.common.mending import mending, unreadable
from rnnlens.common.ordinary import open_ordinary, read_ordinary

SCHEMA = 1  # of prepared corpora; readers refuse a newer one (run folders have `provenance.RUN_SCHEMA`)


# --- atomic writing ---------------------------------------------------------------------------------------------------


@contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to it if the block succeeds, removed if it fails."""
    with write_errors(path):
        path = Path(os.path.abspath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_temporaries(path.parent, path.name)
        temporary = new_temporary(path)
        temporary.touch(exist_ok=False)
        try:
            yield temporary
            sync(temporary)
            os.replace(temporary, path)
            sync(path.parent)
        finally:
            discard_temporary(temporary)


class UnwrittenError(RnnlensError):
    """The operating system refused to write; `reason` is its message."""

    def __init__(self, path: Path | str, reason: str, number: int | None):
        self.path, self.reason, self.number = path, reason, number
        super().__init__(f"cannot write {quoted(str(path))}: {reason}; nothing there was changed{_ADVICE[number]}")

    def __reduce__(self) -> tuple[Any, ...]:  # worker processes pickle it
        return type(self), (self.path, self.reason, self.number)


_ROOM, _PLACE = f"; make room, then {AGAIN}", "; choose a folder that you can write to"
_ADVICE: Mapping[int | None, str] = defaultdict(
    str, {errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EROFS: _PLACE, errno.EACCES: _PLACE, errno.EPERM: _PLACE}
)


@contextmanager
def write_errors(path: Path | str) -> Iterator[None]:
    """Turn operating-system errors (full disk, no permission, not a folder) into one line that names `path`, even if
    the file that could not be written lies inside it."""
    try:
        yield
    except OSError as error:
        raise UnwrittenError(path, error.strerror or str(error), error.errno) from error
    except UnwrittenError as error:
        raise UnwrittenError(path, error.reason, error.number) from error


@contextmanager
def exclusive(folder: Path | str, wait: bool = False, limit: float = LIMIT) -> Iterator[None]:
    """Lock `folder` against other rnnlens processes and other threads of this one. With `wait`, wait for the lock, at
    most `limit` seconds; otherwise a folder in use is an error. The lock ends with the process; with `wait` it is
    re-entrant."""
    folder = Path(os.path.realpath(folder))
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = take_lock(folder / ".lock", folder, limit if wait else 0)
    with lock:
        sweep_temporaries(folder)
        yield


def sweep_temporaries(folder: Path | str, name: str | None = None) -> None:
    """Remove the temporary files in `folder` (only those of `name`, if given) that killed processes of this machine
    left. Temporary files of running processes stay."""
    for leftover in Path(folder).glob(f".{'*' if name is None else glob.escape(name)}.{HOST}-*.tmp"):
        match = re.fullmatch(rf"\..*\.{HOST}-(\d+)-[0-9a-f]+\.tmp", leftover.name, re.DOTALL)  # see `new_temporary`
        if match is None or leftover in _in_use:
            continue
        if int(match[1]) == os.getpid() or not alive(int(match[1])):
            discard_temporary(leftover)


def alive(process: int) -> bool:
    """Whether a process with this id runs on this machine. On Windows this is not known: any may."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)  # signal 0 is not delivered
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's process
        pass
    return True


HOST = re.sub("[^A-Za-z0-9]", "", socket.gethostname())
_in_use: set[Path] = set()  # temporary files that this process is writing


def new_temporary(path: Path) -> Path:
    """A unique name beside `path`, which contains the host and the process."""
    path = Path(os.path.abspath(path))
    temporary = path.parent / f".{path.name}.{HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    _in_use.add(temporary)
    return temporary


def discard_temporary(temporary: Path) -> None:
    """Remove a temporary file or folder, if it still exists."""
    shutil.rmtree(temporary, ignore_errors=True)
    with suppress(OSError):
        temporary.unlink()
    _in_use.discard(temporary)


def sync(path: Path) -> None:
    """Write a file or folder from the system's cache to the disk; nothing on Windows, which needs another handle."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- JSON -------------------------------------------------------------------------------------------------------------


def write_json(path: Path | str, content: Mapping[str, Any]) -> str:
    """Write `content` with its fingerprint (key `fingerprint`, over everything else); returns the fingerprint."""
    body = {key: value for key, value in content.items() if key != "fingerprint"}
    mark = fingerprint(body)
    text = json_text({"fingerprint": mark, **body}, indent=1, default=_plain)
    with atomic_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return mark


def json_text(content: Any, **how: Any) -> str:
    """JSON as text. Lone surrogates, which UTF-8 cannot hold, are escaped."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, **how)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def append_line(path: Path | str, content: Mapping[str, Any]) -> None:
    """Append one JSON line with its own fingerprint. A process killed while writing leaves an incomplete last line;
    `read_lines` skips it, and the next line is not appended to it."""
    with write_errors(path), os.fdopen(open_ordinary(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+b") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        incomplete = file.read() not in (b"", b"\n")
        file.write(b"\n" * incomplete + _line(content))


def rewrite_lines(path: Path | str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Replace all lines of a file at once."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(b"".join(map(_line, lines)))


def read_lines(path: Path | str) -> list[dict[str, Any]]:
    """The lines of a .jsonl file, without their fingerprints; incomplete and altered lines are skipped. A missing file
    has no lines."""
    lines = []
    for line in _read(Path(path)).split(b"\n") if Path(path).exists() else []:
        with suppress(ValueError, RecursionError):
            content = json.loads(line)
            if isinstance(content, dict) and content.pop("fingerprint", None) == _line_fingerprint(content):
                lines.append(content)
    return lines


def _line(content: Mapping[str, Any]) -> bytes:
    body = json.loads(
        json.dumps({key: value for key, value in content.items() if key != "fingerprint"}, default=_plain)
    )
    return json.dumps({**body, "fingerprint": _line_fingerprint(body)}).encode() + b"\n"


def _line_fingerprint(content: Mapping[str, Any]) -> str:
    return fingerprint(content, allow_nan=True)[:12]  # the loss of a diverged run is NaN


def read_json(path: Path | str) -> dict[str, Any]:
    """Read what `write_json` wrote; a missing, truncated or altered file is an error that names it."""
    return read_marked_json(path)[0]


def read_marked_json(path: Path | str) -> tuple[dict[str, Any], str]:
    """The content, as `read_json` returns it, and its fingerprint."""
    path = Path(path)
    try:
        content = json.loads(_read(path).decode("utf-8"))
        if not isinstance(content, dict) or "fingerprint" not in content:
            raise RnnlensError(
                f"{quoted(str(path))} has no fingerprint: expected a file written by rnnlens; {mending(path)}"
            )
        mark = content.pop("fingerprint")
        if mark != fingerprint(content):
            raise RnnlensError(
                f"{quoted(str(path))} is damaged: its content does not match its fingerprint; {mending(path)}"
            )
    except (ValueError, RecursionError) as error:
        raise RnnlensError(
            f"{quoted(str(path))} is damaged, or no file of rnnlens: it is not complete JSON; {mending(path)}"
        ) from error
    return content, mark


@contextmanager
def parsing(path: Path | str, what: str) -> Iterator[None]:
    """Turn errors of a block that parses the content of a file into one line that names the file and `what` it should
    be."""
    try:
        yield
    except RnnlensError:  # it already says what is wrong
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        no_key = isinstance(error, KeyError) and error.args
        why = f"it lacks {quoted(error.args[0])}" if no_key else (str(error).splitlines() or [type(error).__name__])[0]
        raise RnnlensError(f"{quoted(str(path))} is not a valid {what}: {why[:160]}; {mending(path)}") from error


def fingerprint(content: Mapping[str, Any], allow_nan: bool = False) -> str:
    """A hash of any content that JSON can hold: equal content has an equal hash."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=_plain, allow_nan=allow_nan)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: object) -> object:
    """NumPy and torch numbers and arrays as JSON numbers and lists; paths as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


# --- tensors ----------------------------------------------------------------------------------------------------------


def write_tensors(path: Path | str, tensors: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> str:
    """Write tensors (torch or numpy), and plain data about them, as safetensors with a fingerprint over both in the
    header; returns the fingerprint."""
    from safetensors.numpy import save

    arrays, note = _arrays(tensors), _note(about)
    mark = _tensor_fingerprint(arrays, note)
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        file.writelines(_in_order(save(arrays, metadata={"about": note, "fingerprint": mark})))
    return mark


def _in_order(data: bytes) -> tuple[bytes, memoryview]:
    """The parts of a safetensors file, its header in the order of its names: safetensors writes metadata in a random
    order."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header, memoryview(data)[end:]  # no copy of what may be gigabytes


def read_tensors(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read and verify what `write_tensors` wrote: the tensors, and the data about them."""
    return read_marked_tensors(path)[:2]


def read_marked_tensors(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """The tensors and the data about them, as `read_tensors` returns them, and their fingerprint."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(path)
    data = _read(path)
    try:
        arrays = load(data)
        metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        mark, note = metadata["fingerprint"], metadata["about"]
        about = json.loads(note)
        intact = mark == _tensor_fingerprint(arrays, note)
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise RnnlensError(
            f"{quoted(str(path))} is damaged: it is not a complete safetensors file of rnnlens; {mending(path)}"
        ) from error
    if not intact:
        raise RnnlensError(
            f"{quoted(str(path))} is damaged: its tensors do not match their fingerprint; {mending(path)}"
        )
    return arrays, about, mark


def tensors_fingerprint(tensors: Mapping[str, Any]) -> str:
    """The fingerprint that `write_tensors` would return for tensors without data about them."""
    return _tensor_fingerprint(_arrays(tensors), _note(None))


def _arrays(tensors: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(_array(value), order="C") for name, value in tensors.items()}


def _note(about: Mapping[str, Any] | None) -> str:
    return json.dumps(about or {}, sort_keys=True, default=_plain)


def _array(value: Any) -> np.ndarray:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _tensor_fingerprint(arrays: Mapping[str, np.ndarray], note: str) -> str:
    digest = hashlib.sha256(note.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:32]


def file_fingerprint(path: Path | str) -> str:
    """Fingerprint of a file's bytes."""
    with os.fdopen(open_ordinary(path, follow=True), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _read(path: Path) -> bytes:
    try:
        return read_ordinary(path)
    except OSError as error:
        raise RnnlensError(unreadable(path, error)) from error
