"""No bit of a checkpoint can change, and no end of it can be missing, without being noticed.

Checkpoints of 64 KB, in our format and in TensorFlow's. `pytest -m slow` changes every bit and tries every
length; else it is one bit of every seventh byte, and every seventh length.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.formats.tf.tensor_bundle import Bundle, write_bundle
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.state.memory import to_storage

pytestmark = pytest.mark.takes_long

SIZE = 1 << 16  # bytes, at least
WEIGHTS = "weights.safetensors"
SOME, ALL = "some", pytest.param("all", marks=pytest.mark.slow)
EXTENT = pytest.mark.parametrize("extent", [SOME, ALL])


def places(extent: str, size: int) -> range:
    """The places where something is changed, or where a file is cut off."""
    return range(size) if extent != SOME else range(0, size, 7)


def bits(extent: str, at: int) -> list[int]:
    """The bits that are changed there."""
    return [1 << bit for bit in ([at * 3 % 8] if extent == SOME else range(8))]


@pytest.fixture(scope="module")
def stored() -> dict[str, safetensors.Stored]:
    """Many arrays, some of dtypes that refuse some values by themselves."""
    chance = np.random.default_rng(7)
    made = {f"layer{i}/w": (sg.float32, chance.normal(size=(16, 16)).astype(np.float32)) for i in range(60)}
    half = to_storage(np.arange(100, dtype=np.float32), sg.bfloat16)
    return {**made, "half": (sg.bfloat16, half), "mask": (sg.bool, chance.random(4000) < 0.5)}


class TestOurFormat:
    """The file lies in memory, where it is read."""

    @pytest.fixture
    def data(self, stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytearray:
        path = tmp_path / "model.index"
        container.write(path, "checkpoint", {}, {WEIGHTS: safetensors.write(stored)})
        data = bytearray(path.read_bytes())
        assert len(data) > SIZE
        self.end = len(data)
        monkeypatch.setattr(container, "_mapped", lambda *_: memoryview(data)[: self.end])
        return data

    def read(self) -> dict[str, safetensors.Stored]:
        def take(_, members):
            return safetensors.read(members[WEIGHTS], WEIGHTS)

        return container.read("model.index", "checkpoint", {}, (WEIGHTS,), take)

    def is_noticed(self) -> bool:
        with suppress(InvalidFileError):
            self.read()
            return False
        return True

    def test_the_whole_file_is_read(self, data: bytearray, stored):
        found = self.read()
        assert all(np.array_equal(found[name][1], array) for name, (_, array) in stored.items())

    @EXTENT
    def test_truncations(self, data: bytearray, extent: str):
        for self.end in places(extent, len(data)):
            assert self.is_noticed(), self.end

    @EXTENT
    def test_changed_bits(self, data: bytearray, extent: str):
        for at in places(extent, len(data)):
            for bit in bits(extent, at):
                data[at] ^= bit
                assert self.is_noticed(), (at, bit)
                data[at] ^= bit


class TestTensorFlowsFormat:
    """A tensor depends on its own bytes only, so that it alone is read again where these were changed."""

    @pytest.fixture
    def index(self, stored, tmp_path: Path) -> Path:
        write_bundle(str(tmp_path / "model"), stored)
        return tmp_path / "model.index"

    @pytest.fixture
    def bundle(self, index: Path) -> Bundle:
        """The checkpoint, with its data in memory."""
        made = Bundle(str(index.with_suffix("")))
        made._shards[0] = bytearray(index.with_suffix(".data-00000-of-00001").read_bytes())
        return made

    def tensors(self, bundle: Bundle) -> Iterator[tuple[str, range]]:
        """The names in the order in which they lie in the data, with the places of their bytes."""
        end = 0
        for name, entry in sorted(bundle._entries.items(), key=lambda item: item[1].offset):
            assert entry.offset == end  # so no byte is left out
            end += entry.size
            yield name, range(entry.offset, end)
        assert end == len(bundle._shards[0]) > SIZE

    def test_the_whole_file_is_read(self, bundle: Bundle, stored):
        assert all(np.array_equal(bundle[name][1], array) for name, (_, array) in stored.items())

    @EXTENT
    def test_changed_bits_of_the_data(self, bundle: Bundle, extent: str):
        data = bundle._shards[0]
        for name, where in self.tensors(bundle):
            for at in [where[i] for i in places(extent, len(where))]:
                for bit in bits(extent, at):
                    data[at] ^= bit
                    with pytest.raises(InvalidFileError):
                        bundle._read(name)
                    data[at] ^= bit

    @EXTENT
    def test_truncations_of_the_data(self, bundle: Bundle, extent: str):
        data = bundle._shards[0]
        for name, where in self.tensors(bundle):
            for end in [where[i] for i in places(extent, len(where))]:
                bundle._shards[0] = data[:end]
                with pytest.raises(InvalidFileError):
                    bundle._read(name)
            bundle._shards[0] = data

    @EXTENT
    def test_the_index(self, index: Path, bundle: Bundle, extent: str):
        """Some of its bytes are read by nobody, such as a block for what TensorFlow never used."""
        whole = index.read_bytes()
        tried = [whole[:end] for end in places(extent, len(whole))]
        for at in places(extent, len(whole)):
            for bit in bits(extent, at):
                tried.append(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        noticed = 0
        for data in tried:
            index.write_bytes(data)
            try:
                assert Bundle(bundle._prefix)._entries == bundle._entries
            except InvalidFileError:
                noticed += 1
        assert noticed > 0.9 * len(tried)
