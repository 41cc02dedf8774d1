"""Files of every format that was ever released load, and give what they gave when they were written.

`tools/record/saved.py` wrote them. A file in here is never changed: where one of these tests fails, people's
files no longer load.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.files.container import FORMAT

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("format*/*.sg"))
PRESENT = [p for p in FILES if p.parent.name == f"format{FORMAT}" and p.stem != "kernels"]


def same(made: Any, wanted: Any, tolerance: float) -> None:
    """Equal structures and, up to the rounding of other processors, numbers."""
    match wanted:
        case dict():
            assert list(made) == list(wanted)
            for name, value in wanted.items():
                same(made[name], value, tolerance)
        case list() if isinstance(made, list):
            for value, expected in zip(made, wanted, strict=True):
                same(value, expected, tolerance)
        case None:
            assert made is None
        case _ if np.asarray(made).dtype == object:
            assert [text.decode() for text in np.asarray(made).flat] == np.asarray(wanted).ravel().tolist()
        case _:
            np.testing.assert_allclose(made, wanted, tolerance, tolerance)


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "options", [{}, {"mapped": True}, {"trusted": True}], ids=["plain", "mapped", "trusted"]
)
@pytest.mark.parametrize("path", [pytest.param(p, id=f"{p.parent.name}-{p.stem}") for p in FILES])
def test_it_gives_what_it_gave(path: Path, options: dict[str, bool]):
    net = sg.load(path, **options)
    for call in json.loads(path.with_suffix(".json").read_text()):
        same(net.signatures[call["signature"]](call["inputs"]), call["outputs"], 1e-5)


@pytest.mark.parametrize("path", PRESENT, ids=lambda p: p.stem)
def test_the_present_format_comes_back_byte_by_byte(path: Path, tmp_path: Path):
    """All but the version that wrote the file, and machine code, which a loaded graph does not keep."""
    sg.load(path).save(tmp_path / "again.sg")
    sg.load(tmp_path / "again.sg").save(tmp_path / "twice.sg")
    assert (tmp_path / "again.sg").read_bytes() == (tmp_path / "twice.sg").read_bytes()
    first, again = sg.inspect(path).as_dict(), sg.inspect(tmp_path / "again.sg").as_dict()
    for told in (first, again):
        del told["path"], told["producer"], told["bytes"]
    assert first == again


def test_there_are_files_of_every_format():
    assert {p.parent.name for p in FILES} == {f"format{n}" for n in range(1, FORMAT + 1)}


def test_they_are_only_read(tmp_path: Path):
    """Loading from a folder in which nothing can be written."""
    shutil.copytree(HERE / f"format{FORMAT}", tmp_path / "copy")
    before = {p: p.read_bytes() for p in (tmp_path / "copy").iterdir()}
    for path in before:
        if path.suffix == ".sg":
            sg.load(path, mapped=True)
    assert {p: p.read_bytes() for p in (tmp_path / "copy").iterdir()} == before
