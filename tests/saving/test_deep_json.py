"""JSON of others, nested deeper than Python can follow: one error, and nothing told beside it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.runtime.files.attributes import parse, read_json
from staticgraph.tf1.compat.contrib.hyperparameters import HParams

DEEP = "[" * 100_000
READERS: dict[str, tuple[Callable[[str], Any], type[Exception]]] = {
    "read_json": (read_json, RecursionError),
    "a saved file": (lambda text: parse(text.encode(), "the graph"), InvalidFileError),
    "an architecture of Keras": (sg.keras.models.model_from_json, ValueError),
    "a tokenizer": (sg.keras.preprocessing.text.tokenizer_from_json, ValueError),
    "hyperparameters": (lambda text: HParams().parse_json(text), ValueError),
}


@pytest.mark.parametrize("name", READERS)
def test_no_garbage_is_collected_where_nothing_can_be_called(name: str, monkeypatch: pytest.MonkeyPatch):
    """Functions that Python calls with garbage, as at the end of a session, would fail at that depth."""
    read, error = READERS[name]
    failed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    thresholds = gc.get_threshold()

    def watch(phase: str, info: dict[str, int]) -> None:
        pass

    gc.callbacks.append(watch)
    gc.set_threshold(1)
    try:
        with pytest.raises(error):
            read(DEEP)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(watch)
    assert not failed
