"""safetensors and npz files: what other programs write is read, and they read what we write."""

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.compiler.graph.errors import (
    InvalidArgumentError,
    InvalidFileError,
    NotFoundError,
    SaveError,
    UninitializedError,
)
from staticgraph.runtime.files.arrays import npz, safetensors
from staticgraph.runtime.state.memory import from_storage, to_storage

SHAPES = [(), (3,), (2, 3), (0, 3), (5, 1, 2)]
NUMBERS = {name: dtype for name, dtype in DTYPES.items() if dtype is not sg.string}
SUFFIXES = ("safetensors", "npz")


def every_dtype() -> dict[str, safetensors.Stored]:
    """An array of each dtype and shape, by names that no one else would choose."""
    chance, made = np.random.default_rng(3), {}
    for dtype in NUMBERS.values():
        for shape in SHAPES:
            values = chance.integers(0, 100, shape)
            array = (values % 2 if dtype is sg.bool else values).astype(dtype.numpy)
            if dtype.is_complex:
                array = (array * (1 - 2j)).astype(dtype.numpy)
            made[f"{dtype.name}/{'x'.join(map(str, shape))} ü"] = dtype, to_storage(array, dtype)
    return made


def same(found: dict[str, np.ndarray], expected: dict[str, safetensors.Stored]) -> None:
    assert set(found) == set(expected)
    for name, (dtype, stored) in expected.items():
        array = from_storage(stored, dtype)
        assert found[name].dtype == array.dtype and found[name].flags.aligned
        np.testing.assert_array_equal(found[name], array, name)


def written(path: Path, pieces: list) -> Path:
    path.write_bytes(b"".join(bytes(piece) for piece in pieces))
    return path


@pytest.mark.parametrize("form", [safetensors, npz], ids=SUFFIXES)
def test_every_dtype_comes_back(tmp_path: Path, form):
    path = tmp_path / f"all.{form.__name__.rpartition('.')[2]}"
    same(sg.read_weights(written(path, form.write(every_dtype()))), every_dtype())


def test_numpy_reads_what_we_write(tmp_path: Path):
    path = written(tmp_path / "all.npz", npz.write(every_dtype()))
    with np.load(path, allow_pickle=False) as found:
        same(dict(found), every_dtype())
    assert zipfile.ZipFile(path).testzip() is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_we_read_what_numpy_writes(tmp_path: Path, save):
    arrays = {name: from_storage(*stored[::-1]) for name, stored in every_dtype().items()}
    arrays |= {
        "columns first": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "big end first": np.arange(6, dtype=">f8").reshape(2, 3),
        "every other": np.arange(10)[::2],
    }
    save(tmp_path / "all.npz", **arrays)
    found = sg.read_weights(tmp_path / "all.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")


class TestTheLibrary:
    """safetensors by those who made the format."""

    def test_it_reads_what_we_write(self, tmp_path: Path):
        library = pytest.importorskip("safetensors")
        path = written(tmp_path / "all.safetensors", safetensors.write(every_dtype()))
        found = dict(library.deserialize(path.read_bytes()))
        for name, (dtype, stored) in every_dtype().items():
            assert bytes(found[name]["data"]) == stored.tobytes()
            if dtype is sg.complex128:
                assert (found[name]["dtype"], found[name]["shape"]) == ("F64", [*stored.shape, 2])
            else:
                assert found[name]["shape"] == list(stored.shape)
        plain = {n: s for n, s in every_dtype().items() if s[0] not in (sg.bfloat16, sg.complex128)}
        numpy = pytest.importorskip("safetensors.numpy")
        same(numpy.load_file(written(path, safetensors.write(plain))), plain)

    def test_we_read_what_it_writes(self, tmp_path: Path):
        numpy = pytest.importorskip("safetensors.numpy")
        plain = {n: s for n, s in every_dtype().items() if s[0] not in (sg.bfloat16, sg.complex128)}
        arrays = {name: np.ascontiguousarray(array) for name, (_, array) in plain.items()}
        path = tmp_path / "all.safetensors"
        numpy.save_file(arrays, path, metadata={"format": "np", "int8/3": "mine"})
        found = sg.read_weights(path)
        same({name: found[name].reshape(array.shape) for name, array in arrays.items()}, plain)

    def test_bfloat16_both_ways(self, tmp_path: Path):
        library, numpy = pytest.importorskip("safetensors"), pytest.importorskip("safetensors.numpy")
        bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
        values = np.float32([1, -2.5, 3.140625]).astype(bfloat16)
        path = tmp_path / "net.safetensors"
        numpy.save_file({"w": values}, path)
        w = sg.Variable(sg.zeros([3], sg.bfloat16), name="w")
        with sg.Session() as session:
            sg.load_weights(path, [w], session)
            np.testing.assert_array_equal(session.run(w), values.astype(np.float32))
            sg.save_weights(path, [w], session)
        (entry,) = [told for _, told in library.deserialize(path.read_bytes())]
        assert entry["dtype"] == "BF16" and bytes(entry["data"]) == values.tobytes()


def test_arrays_in_any_order(tmp_path: Path):
    """A header may list them in another order than they lie in."""
    header = {
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]},
        "__metadata__": {"b": "of another program"},
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "net.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\7" + struct.pack("<f", 0.5))
    found = sg.read_weights(path)
    assert list(found) == ["b", "a"] and found["a"] == 7 and found["b"] == 0.5


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_variables_of_a_session(tmp_path: Path, suffix: str):
    path = tmp_path / f"net.{suffix}"
    w = sg.Variable([1.5, -2.0], name="layer/w")
    step = sg.Variable(7, name="step", dtype=sg.int64)
    half = sg.Variable(sg.constant([0.1], sg.bfloat16), name="half")
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        before = session.run([w, step, half])
        sg.save_weights(path)
        sg.save_weights(tmp_path / f"some.{suffix}", {"mine": w, "given": np.eye(2)})
    assert list(sg.read_weights(tmp_path / f"some.{suffix}")) in (["mine", "given"], ["given", "mine"])
    with sg.Session() as session:
        sg.load_weights(path)
        np.testing.assert_equal(session.run([w, step, half]), before)
    with sg.Session() as session:
        sg.load_weights(tmp_path / f"some.{suffix}", {"mine": w}, session)
        np.testing.assert_array_equal(session.run(w), before[0])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_does_not_fit_changes_nothing(tmp_path: Path, suffix: str):
    path = tmp_path / f"net.{suffix}"
    sg.save_weights(path, {"w": np.zeros(3, np.float32), "v": np.zeros(2, np.float64)})
    with sg.Session() as session:
        w, v = sg.Variable([1.0, 2.0, 3.0], name="w"), sg.Variable([1.0, 2.0], name="v")
        session.run([w.initializer, v.initializer])
        with pytest.raises(InvalidArgumentError, match=r"v .* is float64"):
            sg.load_weights(path)
        with pytest.raises(NotFoundError, match="Key u not found"):
            sg.load_weights(path, {"w": w, "u": v})
        np.testing.assert_array_equal(session.run(w), [1, 2, 3])
    with pytest.raises(ValueError, match="none is open"):
        sg.load_weights(path)
    with pytest.raises(NotFoundError, match="there is no file"):
        sg.read_weights(tmp_path / f"nothing.{suffix}")


def test_what_cannot_be_saved(tmp_path: Path):
    path = tmp_path / "net.safetensors"
    w = sg.Variable(1.0, name="w")
    for suffix in SUFFIXES:
        with pytest.raises(SaveError, match="it holds strings"):
            sg.save_weights(tmp_path / f"net.{suffix}", {"text": np.array([b"text"], object)})
    with sg.Session(), pytest.raises(UninitializedError, match="cannot save variable w"):
        sg.save_weights(path)
    with pytest.raises(SaveError, match="keeps this name for itself"):
        sg.save_weights(path, {"__metadata__": np.zeros(1)})
    with pytest.raises(TypeError, match="weights are variables"):
        sg.save_weights(path, {"w": w + 1.0})
    with pytest.raises(InvalidArgumentError, match=r"end in \.safetensors or \.npz"):
        sg.read_weights(tmp_path / "net.h5")
    with sg.Graph().as_default(), pytest.raises(ValueError, match="there are no variables"):
        sg.save_weights(path)
    assert not list(tmp_path.iterdir())


def test_objects_are_never_made(tmp_path: Path):
    class Trap:
        def __reduce__(self):
            return print, ("trapped",)

    np.savez(tmp_path / "net.npz", np.array([Trap()], object))
    with pytest.raises(InvalidFileError, match="an array of objects, which can run code"):
        sg.read_weights(tmp_path / "net.npz")


def test_compressed_arrays_grow_within_bounds(tmp_path: Path):
    np.savez_compressed(tmp_path / "net.npz", np.zeros(1 << 27, np.uint8))
    with pytest.raises(InvalidFileError, match="too much memory"):
        sg.read_weights(tmp_path / "net.npz")


@pytest.mark.parametrize(
    "told",
    [
        "'descr': '<f8', 'fortran_order': False, 'shape': '(((('",
        "'descr': '<f8', 'fortran_order': False, 'shape': (1 2)",
        "'descr': '<f8', 'fortran_order': (1,), 'shape': (2,)",
        "'descr': (8,), 'fortran_order': False, 'shape': (2,)",
        "'descr': '<f8', 'fortran_order': False, 'shape': (,)",
    ],
)
def test_a_header_of_an_array_with_a_value_of_another_kind(told: str, tmp_path: Path):
    header = f"{{{told}, }}".ljust(117).encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "net.npz", "w") as file:
        file.writestr("w.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(16))
    with pytest.raises(InvalidFileError, match="the header of 'w' is of no known form"):
        sg.read_weights(tmp_path / "net.npz")
