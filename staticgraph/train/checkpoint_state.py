"""The file `checkpoint` beside checkpoints: which is the latest, and which others are there.

It has TensorFlow's text form, one line per path:

    model_checkpoint_path: "model-200"
    all_model_checkpoint_paths: "model-100"
    all_model_checkpoint_paths: "model-200"
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from staticgraph.runtime.saving.atomic import write_file
from staticgraph.runtime.saving.checkpoint import checkpoint_file

__all__ = [
    "CheckpointState",
    "checkpoint_exists",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "remove_checkpoint",
    "update_checkpoint_state",
]

_LINE = re.compile(r"""\s*(\w+)\s*:\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([-+.\w]+))\s*(?:#.*)?""")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_log = logging.getLogger("staticgraph")


@dataclass
class CheckpointState:
    """What the file `checkpoint` says: prefixes of checkpoints, and times of writing (seconds since 1970)."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float | None = None

    def __str__(self) -> str:
        lines = [f"model_checkpoint_path: {_quoted(self.model_checkpoint_path)}"]
        lines += [f"all_model_checkpoint_paths: {_quoted(p)}" for p in self.all_model_checkpoint_paths]
        lines += [f"all_model_checkpoint_timestamps: {t!r}" for t in self.all_model_checkpoint_timestamps]
        if self.last_preserved_timestamp is not None:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "\n".join([*lines, ""])


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """What the file `checkpoint` in a folder says, or None where there is none that can be read.

    Paths in it that are relative are given as seen from here. ValueError where it names no checkpoint.

    >>> import staticgraph as sg
    >>> sg.train.get_checkpoint_state("/no/such/folder") is None
    True
    """
    path = Path(checkpoint_dir, latest_filename or "checkpoint")
    if not path.is_file():
        return None
    try:
        state = _parse(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        _log.warning("%s is ignored: %s", path, error)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [
        os.path.join(checkpoint_dir, p) for p in state.all_model_checkpoint_paths
    ]
    return state


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file `checkpoint` in a folder. RuntimeError where a checkpoint has that very name.

    Paths below a relative `save_dir` are written as seen from there, so that the folder can be moved.
    """
    listed = list(all_model_checkpoint_paths or ())
    if listed[-1:] != [model_checkpoint_path]:
        listed.append(model_checkpoint_path)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(listed):
        raise ValueError(f"{len(times)} timestamps are given for the checkpoint paths {listed}")
    file = os.path.join(save_dir, latest_filename or "checkpoint")
    latest, *listed = (_seen_from(save_dir, p) for p in (model_checkpoint_path, *listed))
    if file == latest:
        raise RuntimeError(
            f"the save path {latest!r} conflicts with the checkpoint state: use another save path"
        )
    write_file(file, [str(CheckpointState(latest, listed, times, last_preserved_timestamp)).encode()])


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The prefix of the newest checkpoint in a folder, for `Saver.restore`; None where there is none.

    >>> import staticgraph as sg
    >>> sg.train.latest_checkpoint("/no/such/folder") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if not checkpoint_exists(state.model_checkpoint_path):
        _log.error("there is no checkpoint %s, which is said to be the latest", state.model_checkpoint_path)
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint with this prefix."""
    return os.path.isfile(checkpoint_file(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When the checkpoints were written, in seconds since 1970; those that do not exist are left out."""
    return [os.path.getmtime(checkpoint_file(p)) for p in checkpoint_prefixes if checkpoint_exists(p)]


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove a checkpoint. It has one file, so the parameters besides its prefix change nothing."""
    Path(checkpoint_file(checkpoint_prefix)).unlink(missing_ok=True)


def _seen_from(folder: str, path: str) -> str:
    return (
        path if os.path.isabs(folder) or os.path.isabs(path) else os.path.relpath(path, folder or os.curdir)
    )


def _quoted(text: str) -> str:
    """A string in protobuf's text form: bytes of UTF-8, those that are not printable in octal."""
    named = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
    return (
        '"'
        + "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode())
        + '"'
    )


def _unquoted(text: str) -> str:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 0xFF])
        return bytes([int(code[1:], 16)]) if len(code) > 1 else _LETTERS.get(code, code)

    return _ESCAPE.sub(one, text.encode()).decode()


def _parse(text: str) -> CheckpointState:
    state = CheckpointState()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{line!r} is not a line of a checkpoint state")
        key, double, single, number = match.groups()
        string = double if double is not None else single
        match key, string:
            case "model_checkpoint_path", str():
                state.model_checkpoint_path = _unquoted(string)
            case "all_model_checkpoint_paths", str():
                state.all_model_checkpoint_paths.append(_unquoted(string))
            case "all_model_checkpoint_timestamps", None:
                state.all_model_checkpoint_timestamps.append(float(number))
            case "last_preserved_timestamp", None:
                state.last_preserved_timestamp = float(number)
            case _:
                raise ValueError(f"{line!r} is not a line of a checkpoint state")
    return state
