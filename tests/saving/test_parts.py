"""Variables that are saved as parts of one larger tensor: only where they are all of it."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.files.values import Part


def test_a_text_that_tells_a_part():
    part = Part.read("10 3 4,6:0,3")
    assert part == Part.of([10, 3], [4, 0], [6, 3]) and part.spec == "10 3 4,6:0,3"
    for text in ("", "10 3 4,6", "3 0,-1", "3 0,1 ", "9" * 5000 + " 0,1", "3 0," + "9" * 5000):
        assert Part.read(text) is None


def variables(offsets):
    """Return two variables of two numbers each, as parts of a tensor of four."""
    parts = [sg.Variable(np.float32([n, n]), name=f"part_{n}") for n in range(2)]
    for part, offset in zip(parts, offsets, strict=True):
        part._set_save_slice_info(sg.Variable.SaveSliceInfo("whole", [4], [offset], [2]))
    return parts


@pytest.mark.parametrize("offsets", [(0, 1), (0, 4)], ids=["they overlap", "one is outside"])
def test_parts_that_are_not_the_whole_are_refused(offsets, tmp_path):
    saver = sg.train.Saver(variables(offsets))
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        with pytest.raises(ValueError, match="cannot save whole: its parts are not the whole of it"):
            saver.save(session, str(tmp_path / "model"))
    assert not [*tmp_path.glob("model*")]


def test_parts_in_any_order_are_the_whole(tmp_path):
    parts = variables((2, 0))
    saver = sg.train.Saver(parts)
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run([part.assign([9, 9]) for part in parts])
        saver.restore(session, path)
        assert [session.run(part).tolist() for part in parts] == [[0, 0], [1, 1]]
    assert sg.train.load_variable(path, "whole").tolist() == [1, 1, 0, 0]
