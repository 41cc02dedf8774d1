"""Readers of data: pictures, tables, texts and records that a program decodes, and models of Keras.

Those that are operations are run by one session for all files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.applications.dashboard.answers import Answers
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.applications.solver import reading, sources
from staticgraph.applications.solver.errors import DataError, DescriptionError
from staticgraph.compiler.graph.errors import DataLossError, InvalidArgumentError, InvalidFileError
from staticgraph.domains.image import codecs
from staticgraph.tf1.keras.datasets import arrays
from staticgraph.tf1.keras.preprocessing.text import tokenizer_from_json
from tests.fuzz_readers.reader import SEEDS, Reader, of_file

REFUSED = (InvalidArgumentError, DataLossError)


def _any(*reads: Callable[[bytes], Any]) -> Callable[[bytes, Path], None]:
    """A reader that does all of these. It refuses what each of them refuses."""

    def attempt(data: bytes, folder: Path) -> None:
        refused: list[Exception] = []
        for read in reads:
            try:
                read(data)
            except REFUSED as error:
                refused.append(error)
        if len(refused) == len(reads):
            raise refused[0]

    return attempt


def _run(make: Callable[[sg.Tensor], Any]) -> Callable[[bytes], Any]:
    """A reader that is a graph of operations on a string."""

    @cache
    def prepared() -> tuple[sg.Session, sg.Tensor, Any]:
        with sg.Graph().as_default() as graph:
            data = sg.placeholder(sg.string, [])
            return sg.Session(graph=graph), data, make(data)

    def read(data: bytes) -> None:
        session, fed, made = prepared()
        session.run(made, {fed: data})

    return read


_PICTURE = _any(
    codecs.decode_image,
    lambda data: codecs.decode_image(data, 3, np.float32),
    lambda data: codecs.decode_png(data, dtype=np.uint16),
    lambda data: codecs.decode_jpeg(data, ratio=4),
    lambda data: codecs.decode_and_crop_jpeg(data, [0, 0, 2, 2]),
    codecs.extract_jpeg_shape,
)
_NUMBERS = (sg.float32, sg.float64, sg.int32, sg.int64)
_FEATURES = {
    "label": sg.io.FixedLenSequenceFeature([], sg.int64, allow_missing=True),
    "weights": sg.io.FixedLenFeature([2], sg.float32),
}


def _vocabulary(path: Path) -> None:
    """A table that is filled from the lines of a file."""
    with sg.Graph().as_default(), sg.Session() as session:
        lookup = sg.contrib.lookup
        lines = lookup.TextFileInitializer(str(path), sg.string, 0, sg.int64, 1)
        found = lookup.HashTable(lines, -1).lookup(sg.constant(["one", "two"]))
        session.run(sg.tables_initializer())
        session.run(found)


def _description(path: Path) -> None:
    """A description of a training that `python -m staticgraph train` takes."""
    reading.read(path)


def _described(key: str, name: str) -> Callable[[Path], None]:
    """The data of a training."""

    def read(path: Path) -> None:
        text = (SEEDS / "net.toml").read_text().replace('csv = "rows.csv"', f'{key} = "{name}"')
        (path.parent / "net.toml").write_text(text)
        sources._raw(reading.read(path.parent / "net.toml"), name, key)

    return read


def _events(path: Path) -> None:
    """All that the page of curves shows of a file of events."""
    runs = Runs([str(path.parent)])
    while not runs.follow(1.0):
        pass
    answers = Answers(runs)
    for answer in (answers.curves, answers.places, answers.histograms, answers.texts):
        answer({})
    answers.state()


def _keras_model(path: Path) -> None:
    with sg.Graph().as_default():
        sg.keras.models.load_model(path)


def _architecture(data: bytes, folder: Path) -> None:
    with sg.Graph().as_default():
        sg.keras.models.model_from_json(data.decode(errors="replace"))


DATA_READERS = {
    "picture": Reader(_PICTURE, REFUSED, "picture.*", 600),
    "csv": Reader(
        _any(_run(lambda data: sg.io.decode_csv(data, [[0], [1.0], ["x"]]))), REFUSED, "*.line", 600
    ),
    "base64": Reader(_any(_run(sg.io.decode_base64)), REFUSED, "*.base64", 600),
    "compressed": Reader(
        _any(
            *(_run(lambda data, kind=kind: sg.io.decode_compressed(data, kind)) for kind in ("ZLIB", "GZIP"))
        ),
        REFUSED,
        "*.records.gz",
        600,
    ),
    "tensor": Reader(
        _any(*(_run(lambda data, t=t: sg.io.parse_tensor(data, t)) for t in (*_NUMBERS, sg.string))),
        REFUSED,
        "*.tensor",
        600,
    ),
    "number": Reader(
        _any(*(_run(lambda data, t=t: sg.strings.to_number(data, t)) for t in _NUMBERS)),
        REFUSED,
        "*.number",
        600,
    ),
    "text": Reader(
        _any(
            _run(lambda data: sg.strings.unicode_transcode(data, "UTF-16-BE", "UTF-8")),
            _run(lambda data: sg.strings.unicode_decode(data, "UTF-8")),
            _run(lambda data: sg.strings.regex_replace("aaaaaaaaaaaaaaaaaaaaaaab", data, "")),
        ),
        (),
        "*.pattern",
        600,
    ),
    "example_in_a_graph": Reader(
        _any(_run(lambda data: sg.io.parse_single_example(data, _FEATURES))), REFUSED, "plain.example", 600
    ),
    "vocabulary": Reader(of_file("words.txt", _vocabulary), REFUSED, "*.vocabulary", 200),
    "description": Reader(of_file("net.toml", _description), (DescriptionError,), "*.toml", 600),
    "csv_of_a_description": Reader(
        of_file("rows.csv", _described("csv", "rows.csv")), (DescriptionError, DataError), "*.csv", 200
    ),
    "npz_of_a_description": Reader(
        of_file("rows.npz", _described("npz", "rows.npz")), (DescriptionError, DataError), "rows.arrays", 200
    ),
    "mnist": Reader(of_file("digits", arrays.read_idx), (InvalidFileError,), "*.idx", 600),
    "events_on_a_page": Reader(of_file("events.out.tfevents.1.x", _events), (), "*.events", 200),
    "tokenizer": Reader(
        lambda data, _: tokenizer_from_json(data.decode(errors="replace")), (ValueError,), "*.tokenizer", 600
    ),
    "architecture": Reader(_architecture, (ValueError, TypeError), "*.architecture", 200),
    "keras_hdf5": Reader(of_file("net.h5", _keras_model), (ValueError, TypeError), "*.h5", 60),
}
