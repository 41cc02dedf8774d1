"""Records of files that grow, end within a record, are damaged, or are written anew."""

import os
import struct

import numpy as np
import pytest

from staticgraph.applications.dashboard import records
from staticgraph.applications.dashboard.records import RecordFile
from staticgraph.formats.tf.tensor_bundle.crc32c import crc_of_rows, masked_crc32c
from staticgraph.tf1.io.tf_record import framed

TEXTS = [b"", b"one", b"two", b"x" * 700, b"y" * 700, bytes(range(256)) * 20, b"end"]


def read(file):
    return [
        batch.data[start : start + length]
        for batch in file.read()
        for start, length in zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True)
    ]


def test_a_file_that_grows_by_a_byte_at_a_time(tmp_path):
    path, whole, found = tmp_path / "file", b"".join(map(framed, TEXTS[:4])), []
    path.touch()
    file = RecordFile(str(path))
    with path.open("ab", buffering=0) as out:
        for at in range(len(whole)):
            out.write(whole[at : at + 1])
            found += read(file)
            assert len(found) <= sum(at + 1 >= len(b"".join(map(framed, TEXTS[:n]))) for n in range(1, 5))
    assert found == TEXTS[:4] and not file.broken and not file.skipped


@pytest.mark.parametrize("chunk", [20, 64, 1000, 1 << 20])
def test_records_that_are_longer_than_what_is_read_at_once(tmp_path, chunk, monkeypatch):
    monkeypatch.setattr(records, "CHUNK", chunk)
    path = tmp_path / "file"
    path.write_bytes(b"".join(map(framed, TEXTS)))
    assert read(RecordFile(str(path))) == TEXTS


def test_a_damaged_record_is_left_out_and_the_next_ones_are_read(tmp_path):
    path = tmp_path / "file"
    whole = bytearray(b"".join(map(framed, [b"first", b"other", b"third", b"a long one" * 99])))
    whole[len(framed(b"first")) + 13] ^= 1
    path.write_bytes(whole)
    file = RecordFile(str(path))
    assert read(file) == [b"first", b"third", b"a long one" * 99]
    assert file.skipped == 1 and not file.broken


def test_a_damaged_length_ends_the_file(tmp_path):
    path = tmp_path / "file"
    whole = bytearray(framed(b"first") + framed(b"other"))
    whole[len(framed(b"first"))] ^= 1
    path.write_bytes(whole)
    file = RecordFile(str(path))
    assert read(file) == [b"first"]
    assert f"byte {len(framed(b'first'))} is damaged" in file.broken
    assert read(file) == []


def test_no_length_is_believed_before_so_many_bytes_are_there(tmp_path):
    path = tmp_path / "file"
    for length in (records.LARGEST, records.LARGEST + 1, 2**63, 2**64 - 1):
        head = struct.pack("<Q", length)
        path.write_bytes(framed(b"first") + head + struct.pack("<I", masked_crc32c(head)) + b"some")
        file = RecordFile(str(path))
        assert read(file) == [b"first"] and read(file) == []
        assert not file.broken  # it may still come


def test_a_record_above_the_limit_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LARGEST", 1000)
    path = tmp_path / "file"
    path.write_bytes(framed(b"first") + framed(bytes(5000)) + framed(b"last"))
    file = RecordFile(str(path))
    assert read(file) == [b"first", b"last"] and file.skipped == 1


def test_a_pipe_does_not_hold_the_reader_up(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert read(RecordFile(str(path))) == []


@pytest.mark.parametrize("length", [0, 1, 4, 47, 48, 300])
def test_checksums_of_many_texts_are_those_of_each(length):
    rows = np.random.default_rng(length).integers(0, 256, (7, length), np.uint8)
    assert crc_of_rows(rows).tolist() == [masked_crc32c(row.tobytes()) for row in rows]
