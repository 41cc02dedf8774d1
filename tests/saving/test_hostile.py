"""Every hostile file is refused with one error of ours, soon and in little memory, and touches nothing."""

from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from tests.fuzz_readers.watch import watched
from tests.saving import hostile, hostile_tensorflow

FILES = hostile.FILES | hostile_tensorflow.FILES
MOST = 4 << 20  # bytes of a file that is looked at wholly


def read(path: Path) -> None:
    """As a user would, by what the name says it is."""
    if path.suffix == ".sg":
        sg.load(path)
    elif path.suffix in (".safetensors", ".npz"):
        sg.read_weights(path)
    elif path.suffix == ".meta":
        sg.train.import_meta_graph(str(path))
    elif path.is_dir():
        with sg.Session() as session:
            sg.saved_model.loader.load(session, ["serve"], str(path))
    else:
        reader = sg.train.NewCheckpointReader(str(path))
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)


@pytest.mark.takes_long
@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_it_is_refused(tmp_path: Path, make):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = make(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidFileError) as caught, watched(MOST):
        read(path)
    assert len(str(caught.value)) < 2000, "an error is for people"
    assert sorted(tmp_path.rglob("*")) == before


def test_there_are_enough():
    assert len(FILES) >= 60
