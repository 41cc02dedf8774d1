"""The recorded outcomes of a subject in one `.npz`: a JSON index, and for each type one flat array.

Thousands of small arrays would cost more in headers than in numbers. Nothing in the file is pickled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "tf1"


def save(subject: str, outcomes: dict[str, dict[str, Any]], folder: Path = FOLDER) -> None:
    """Writes {case name: outcome}; the same outcomes give the same bytes."""
    index: dict = {}
    chunks: dict = {}
    ends: dict = {}
    for name, outcome in outcomes.items():
        index[name] = entry = {}
        for key, item in outcome.items():
            if not isinstance(item, np.ndarray):
                entry[key] = {"json": item}
                continue
            dtype = item.dtype.name
            start = ends.get(dtype, 0)
            entry[key] = {"dtype": dtype, "shape": list(item.shape), "start": start}
            chunks.setdefault(dtype, []).append(item.ravel())
            ends[dtype] = start + item.size
    arrays = {dtype: np.concatenate(parts) for dtype, parts in sorted(chunks.items())}
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(str(folder / (subject + ".npz")), index=text, **arrays)


def load(subject: str, folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Reads {case name: outcome} back."""
    with np.load(str(folder / (subject + ".npz")), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    index = json.loads(arrays.pop("index").tobytes().decode())
    return {name: {key: _item(item, arrays) for key, item in entry.items()} for name, entry in index.items()}


def _item(item, arrays):
    if "json" in item:
        return item["json"]
    shape, start = item["shape"], item["start"]
    return arrays[item["dtype"]][start : start + int(np.prod(shape))].reshape(shape)
