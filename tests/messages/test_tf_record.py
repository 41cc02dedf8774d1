"""Files of records: written, read, damaged."""

import gzip
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.compiler.graph.errors import DataLossError, NotFoundError
from staticgraph.formats.tf.tensor_bundle.crc32c import crc32c, crc_of_parts, masked_crc32c
from staticgraph.tf1.io.tf_record import framed

LENGTHS = [0, 1, 3, 4, 47, 48, 49, 1023, 1024, 1025, 1027, 1028, 2048, 3000, 1 << 20, (1 << 20) + 1029]


def by_definition(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class TestChecksum:
    @pytest.mark.parametrize("data, crc", [(b"", 0), (b"123456789", 0xE3069283), (b"\0" * 32, 0x8A9136AA)])
    def test_known(self, data: bytes, crc: int):
        assert crc32c(data) == crc

    @pytest.mark.parametrize("length", [n for n in LENGTHS if n < 5000])
    def test_of_every_length_as_defined(self, length: int):
        data = bytes((7 * i + i // 256) % 256 for i in range(length))
        assert crc32c(data) == by_definition(data)

    def test_of_long_data_is_that_of_its_parts(self):
        """The checksum is linear: those of three texts and of their exclusive or cancel each other."""
        length = (1 << 20) + 1029
        parts = [os.urandom(length) for _ in range(2)]
        both = bytes(a ^ b for a, b in zip(*parts, strict=True))
        assert crc32c(parts[0]) ^ crc32c(parts[1]) ^ crc32c(both) == crc32c(bytes(length))

    def test_of_many_parts_at_once(self):
        rng = np.random.default_rng(0)
        data = rng.integers(0, 256, 9000).astype(np.uint8)
        ends = rng.integers(4000, 9000, 60)
        begins = ends - rng.choice([0, 1, 3, 4, 8, 47, 48, 1023, 1024, 1025, 4000], 60)
        parts = [data[a:b].tobytes() for a, b in zip(begins, ends, strict=True)]
        assert crc_of_parts(data, begins, ends).tolist() == list(map(masked_crc32c, parts))

    def test_masked(self):
        assert masked_crc32c(b"") == 0xA282EAD8


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records"


def write(path, records, options=None):
    with sg.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.mark.parametrize(
    "options", [None, "", "GZIP", "ZLIB", 2, sg.io.TFRecordOptions("GZIP", compression_level=9)]
)
def test_what_is_written_is_read(path, options):
    records = [os.urandom(length) for length in LENGTHS]
    assert list(sg.io.tf_record_iterator(write(path, records, options), options)) == records


def test_the_standard_programs_read_compressed_files(path):
    plain = framed(b"one") + framed(b"two")
    assert gzip.decompress(write(path, [b"one", b"two"], "GZIP").read_bytes()) == plain
    assert zlib.decompress(write(path, [b"one", b"two"], "ZLIB").read_bytes()) == plain


def test_compressed_files_may_be_joined(path):
    path.write_bytes(b"".join(gzip.compress(framed(record)) for record in (b"one", b"two", b"three")))
    assert list(sg.io.tf_record_iterator(path, "GZIP")) == [b"one", b"two", b"three"]
    path.write_bytes(b"")
    assert list(sg.io.tf_record_iterator(path, "GZIP")) == []


@pytest.mark.parametrize(
    "length", [(1 << 20) - 20, (1 << 20) - 17, (1 << 20) - 16, (1 << 20) - 15, (3 << 20) - 16]
)
def test_what_fills_the_chunks_that_are_read(path, length: int):
    assert list(map(len, sg.io.tf_record_iterator(write(path, [bytes(length)], "GZIP"), "GZIP"))) == [length]


@pytest.mark.parametrize("options", ["", "GZIP"])
def test_what_was_flushed_can_be_read_before_the_file_is_closed(path, options):
    writer = sg.io.TFRecordWriter(path, options)
    writer.write(b"one")
    writer.flush()
    assert next(sg.io.tf_record_iterator(path, options)) == b"one"
    writer.close()
    writer.close()


def test_only_bytes_are_records(path):
    with sg.io.TFRecordWriter(path) as writer:
        with pytest.raises(TypeError, match="str was given"):
            writer.write("text")
        with pytest.raises(TypeError, match="SerializeToString"):
            writer.write(sg.messages.Example())


def test_a_missing_file_is_not_found(path):
    with pytest.raises(NotFoundError, match="records"):
        list(sg.io.tf_record_iterator(path))
    with pytest.raises(NotFoundError):
        sg.io.TFRecordWriter(path / "no folder")


class TestDamage:
    GOOD = framed(b"first") + framed(b"second record")

    def damaged(self, path, data: bytes, options: str = "") -> str:
        path.write_bytes(data)
        with pytest.raises(DataLossError) as caught:
            list(sg.io.tf_record_iterator(path, options))
        assert str(caught.value).startswith(str(path))
        return str(caught.value)

    @pytest.mark.parametrize("end", range(1, len(GOOD)))
    def test_cut_short(self, path, end: int):
        first = len(framed(b"first"))
        if end == first:
            return
        text = self.damaged(path, self.GOOD[:end])
        assert f"the record at byte {0 if end < first else first} is damaged: the file ends within it" in text

    @pytest.mark.parametrize("at", range(len(GOOD)))
    def test_every_byte_is_checked(self, path, at: int):
        changed = bytearray(self.GOOD)
        changed[at] ^= 0x10
        assert "the checksum" in self.damaged(path, bytes(changed))

    def test_the_records_before_come_first(self, path):
        path.write_bytes(self.GOOD[:-1])
        found = sg.io.tf_record_iterator(path)
        assert next(found) == b"first"
        with pytest.raises(DataLossError):
            next(found)

    @pytest.mark.parametrize("place", ["length", "checksum of the length", "data", "checksum of the data"])
    def test_one_of_many_records(self, path, place: str):
        records = [bytes([number % 256]) * (number % 90) for number in range(900)]
        for bad in (0, 1, 450, 899):
            changed = bytearray(framed(records[bad] or b"x"))
            changed[{"length": 0, "checksum of the length": 8, "data": 12}.get(place, -1)] ^= 1
            before, after = map(list, (records[:bad], records[bad + 1 :]))
            path.write_bytes(b"".join(map(framed, before)) + changed + b"".join(map(framed, after)))
            iterator = sg.io.tf_record_iterator(path)
            assert [next(iterator) for _ in before] == before
            with pytest.raises(DataLossError, match=f"at byte {sum(len(each) + 16 for each in before)} "):
                next(iterator)

    def test_a_huge_length_in_a_bomb(self, path):
        """Before, half a gigabyte was decompressed to see that it is no record of eight."""
        length = struct.pack("<Q", 1 << 33)
        data = length + struct.pack("<I", masked_crc32c(length)) + bytes(10 << 20)
        path.write_bytes(zlib.compress(data))
        with pytest.raises(DataLossError, match="the file is too small for them"):
            next(sg.io.tf_record_iterator(path, "ZLIB"))

    def test_a_huge_length_takes_no_memory(self, path):
        length = struct.pack("<Q", 1 << 60)
        data = length + struct.pack("<I", masked_crc32c(length)) + b"little"
        assert f"{(1 << 60) + 4} bytes are announced and 6 are there" in self.damaged(path, data)

    def test_another_compression(self, path):
        assert "cannot be decompressed" in self.damaged(path, self.GOOD, "GZIP")
        assert "options=TFRecordOptions" in self.damaged(path, gzip.compress(self.GOOD))

    def test_compressed_and_cut_short(self, path):
        assert "incomplete" in self.damaged(path, gzip.compress(self.GOOD)[:-4], "GZIP")

    def test_more_after_the_end_of_what_is_compressed(self, path):
        assert "cannot be decompressed" in self.damaged(path, gzip.compress(self.GOOD) + b"more", "GZIP")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80), st.sampled_from(["", "GZIP", "ZLIB"]))
def test_any_file_is_records_or_an_error(tmp_path_factory, data: bytes, options: str):
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(data)
    try:
        assert b"".join(map(framed, sg.io.tf_record_iterator(path, options))) == data
    except DataLossError as error:
        assert str(path) in str(error)
