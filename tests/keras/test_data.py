"""Helpers for data: sequences, texts, images, downloads, data sets."""

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zipfile

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError, told
from staticgraph.tf1.keras.datasets import arrays

keras = sg.keras
sequence = keras.preprocessing.sequence
text = keras.preprocessing.text
image = keras.preprocessing.image


def test_pad_sequences():
    rows = [[1, 2, 3], [4], []]
    np.testing.assert_array_equal(sequence.pad_sequences(rows), [[1, 2, 3], [0, 0, 4], [0, 0, 0]])
    padded = sequence.pad_sequences(rows, 2, padding="post", truncating="post", value=9)
    np.testing.assert_array_equal(padded, [[1, 2], [4, 9], [9, 9]])
    assert sequence.pad_sequences([np.ones([2, 5])], 3, dtype="float32").shape == (1, 3, 5)
    with pytest.raises(ValueError, match="padding='middle'"):
        sequence.pad_sequences(rows, padding="middle")


def test_skipgrams_are_near_pairs_and_drawn_ones():
    pairs, labels = sequence.skipgrams([1, 2, 3, 0], 9, window_size=1, negative_samples=1.0, seed=0)
    near = {tuple(pair) for pair, label in zip(pairs, labels, strict=True) if label}
    assert near == {(1, 2), (2, 1), (2, 3), (3, 2)} and labels.count(0) == 4
    table = sequence.make_sampling_table(1000)
    assert ((table > 0) & (table <= 1)).all() and table[500] > table[5]


def test_timeseries():
    series = np.arange(10)
    windows = sequence.TimeseriesGenerator(series, series, length=4, sampling_rate=2, batch_size=3)
    x, y = windows[0]
    assert len(windows) == 2 and x.tolist() == [[0, 2], [1, 3], [2, 4]] and y.tolist() == [4, 5, 6]


def test_tokenizer():
    tokenizer = text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["a b b c", "B a b"])
    assert tokenizer.word_index == {"?": 1, "b": 2, "a": 3, "c": 4}
    assert tokenizer.texts_to_sequences(["a c d b"]) == [[3, 1, 1, 2]]
    assert tokenizer.sequences_to_texts([[2, 3]]) == ["b a"]
    assert tokenizer.texts_to_matrix(["b b a"], "count").tolist() == [[0, 0, 2, 1]]
    again = text.tokenizer_from_json(tokenizer.to_json())
    assert again.texts_to_sequences(["a b"]) == tokenizer.texts_to_sequences(["a b"])


def test_images_are_changed_as_told():
    picture = np.arange(12.0).reshape(3, 4, 1)
    moved = image.apply_affine_transform(picture, tx=1)
    np.testing.assert_allclose(moved[:2], picture[1:])
    turned = image.apply_affine_transform(np.arange(16.0).reshape(4, 4, 1), theta=360)
    np.testing.assert_allclose(turned[..., 0], np.arange(16.0).reshape(4, 4), atol=1e-6)
    changes = image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    images = np.random.RandomState(0).rand(20, 4, 4, 3)
    changes.fit(images)
    batch = next(changes.flow(images, batch_size=20))
    np.testing.assert_allclose(batch.mean((0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(batch.std((0, 1, 2)), 1, atol=1e-3)
    flip = image.ImageDataGenerator(horizontal_flip=True)
    flipped = {bool((flip.random_transform(picture, i) != picture).any()) for i in range(8)}
    assert flipped == {True, False}


def served(path):
    return f"file://{path}"


def test_downloads_are_checked_and_kept(tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(b"data")
    digest = hashlib.sha256(b"data").hexdigest()
    options = {"origin": served(source), "file_hash": digest, "cache_dir": tmp_path}
    path = keras.utils.get_file("kept.bin", **options)
    source.write_bytes(b"changed")
    assert keras.utils.get_file("kept.bin", **options) == path
    with pytest.raises(ValueError, match="does not have the checksum"):
        keras.utils.get_file("other.bin", **options)
    with pytest.raises(OSError, match="without a network, put the file at"):
        keras.utils.get_file("none.bin", served(tmp_path / "nothing"), cache_dir=tmp_path)


def test_an_archive_stays_in_its_folder(tmp_path):
    path = tmp_path / "bad.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("../outside")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(ValueError, match="outside of"):
        keras.utils.get_file("bad.tar.gz", served(path), extract=True, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache" / "outside").exists()


def zipped(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member", contents)
    return path


def tarred(path, contents):
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("member")
        member.size = len(contents)
        tar.addfile(member, io.BytesIO(contents))
    return path


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_that_would_fill_the_disk_is_refused(pack, tmp_path, monkeypatch):
    monkeypatch.setattr("staticgraph.tf1.keras.utils.download._ALWAYS", 0)
    path = pack(tmp_path / "bomb", bytes(1 << 20))
    with pytest.raises(ValueError, match="claims more than 64 times its size") as caught:
        keras.utils.get_file("bomb", served(path), extract=True, cache_dir=tmp_path / "cache")
    assert "by hand" in str(caught.value)
    assert not (tmp_path / "cache" / "datasets" / "member").exists()


@pytest.mark.takes_long
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_damaged_archive_is_told(pack, tmp_path):
    """Wherever it is changed or cut off: by one error, or not at all if nothing depends on the byte."""
    whole = pack(tmp_path / "whole", b"contents" * 100).read_bytes()
    refused = 0
    for at in range(0, len(whole), 7):
        for number, damaged in enumerate((whole[:at], whole[:at] + b"\xff" + whole[at + 1 :])):
            name = f"{at}_{number}"
            (tmp_path / name).write_bytes(damaged)
            try:
                keras.utils.get_file(
                    name, served(tmp_path / name), extract=True, cache_dir=tmp_path / "cache"
                )
            except ValueError as error:
                assert told(error), f"{at}: {error!r}"
                refused += 1
    assert refused


def test_nothing_is_left_of_an_archive_that_is_damaged_further_on(tmp_path):
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/first", b"good")
        archive.writestr("data/second", b"damaged")
    path.write_bytes(path.read_bytes().replace(b"damaged", b"changed"))
    with pytest.raises(ValueError, match="Bad CRC"):
        keras.utils.get_file("two.zip", served(path), extract=True, cache_dir=tmp_path / "cache")
    assert [p.name for p in (tmp_path / "cache" / "datasets").iterdir()] == ["two.zip"]


def test_arrays_of_objects_are_refused(tmp_path):
    path = str(tmp_path / "data.npz")
    np.savez(path, x=np.array([[1], [2, 3]], dtype=object), y=np.arange(2))
    with pytest.raises(InvalidFileError, match="can run code"):
        arrays.read_npz(path, ("x",))
    assert arrays.read_npz(path, ("y",))[0].tolist() == [0, 1]


def test_the_formats_of_mnist_and_cifar(tmp_path):
    path = tmp_path / "images.gz"
    pixels = np.arange(12, dtype=np.uint8)
    head = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 3)
    path.write_bytes(gzip.compress(head + pixels.tobytes()))
    assert arrays.read_idx(str(path)).tolist() == pixels.reshape(2, 2, 3).tolist()
    path.write_bytes(gzip.compress(head + b"short"))
    with pytest.raises(InvalidFileError, match="as many bytes"):
        arrays.read_idx(str(path))
    record = tmp_path / "batch.bin"
    record.write_bytes(bytes([7]) + bytes(range(256)) * 12)
    images, kinds = arrays.read_records([record], 1)
    assert images.shape == (1, 32, 32, 3) and kinds.tolist() == [[7]] and images[0, 0, 1, 0] == 1


def made(data):
    """The bytes of a file. Those that take long to compress are made by the test that needs them."""
    return data() if callable(data) else data


HEAD = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 3)
DIGITS = {
    "compressed": (gzip.compress(HEAD + bytes(12)), None),
    "plain": (HEAD + bytes(12), None),
    "cut short": (gzip.compress(HEAD + bytes(12))[:-9], "ended before"),
    "cut short in the sizes": (gzip.compress(HEAD[:6]), "ends before the sizes"),
    "another checksum": (gzip.compress(HEAD + bytes(12))[:-8] + bytes(8), "CRC"),
    "damaged": (gzip.compress(HEAD + bytes(12))[:10] + b"\xff" * 30, "invalid"),
    "text": (b"hello", "not of MNIST's format"),
    "another rank": (b"\0\0\x08\x01" + struct.pack(">I", 2) + bytes(2), "not of MNIST's format"),
    "sizes whose product has no bits": (HEAD[:4] + struct.pack(">3I", 1 << 31, 1 << 31, 4), "claims"),
    "a bomb": (lambda: gzip.compress(HEAD + bytes(1 << 24)), "as many bytes"),
    "nothing": (b"", "empty"),
}


@pytest.mark.parametrize(("data", "told"), DIGITS.values(), ids=DIGITS)
def test_files_of_digits_that_are_not_what_they_say(tmp_path, data, told):
    (tmp_path / "digits").write_bytes(made(data))
    if told is None:
        assert arrays.read_idx(tmp_path / "digits", 3).shape == (2, 2, 3)
        return
    with pytest.raises(InvalidFileError, match=told):
        arrays.read_idx(tmp_path / "digits", 3)


def archive(*members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members:
            out.writestr(name, data)
    return file.getvalue()


def claimed(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return archive(("x.npy", file.getvalue()))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (claimed((10**10,)), "size of 'x' is not"),
        (claimed((2**70,)), "which is not read"),
        (lambda: archive(("x.npy", bytes(1 << 27))), "too much memory"),
        (archive(("y.npy", b"")), "has no array 'x'"),
        (claimed(())[:-30], "cut short"),
        (b"\x80\x04cos\nsystem\n.", "no zip file"),
        (b"", "empty"),
    ],
)
def test_data_sets_that_are_not_what_they_say(tmp_path, data, told):
    (tmp_path / "data.npz").write_bytes(made(data))
    with pytest.raises(InvalidFileError, match=told):
        arrays.read_npz(tmp_path / "data.npz", ("x",))


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{", '{"config": {}}', '{"config": {"word_docs": 3}}'])
def test_text_that_describes_no_tokenizer(text):
    with pytest.raises(ValueError, match="no tokenizer is described"):
        keras.preprocessing.text.tokenizer_from_json(text)


WRONG = {
    "num_words": [-1, 1.5, "9", True], "filters": [1], "split": ["", None], "lower": ["x"],
    "oov_token": [[1]], "document_count": ["4", -2], "word_index": ['{"a": [1]}', '{"a": -1}', "[]"],
    "index_word": ['{"1": 1.5}', '{"-1": "a"}'], "index_docs": ['{"1": -1}', '{"1": "x"}'],
    "word_counts": ['{"a": null}'], "unknown": [1],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_tokenizers_with_parts_of_another_kind(name):
    tokenizer = keras.preprocessing.text.Tokenizer(9)
    tokenizer.fit_on_texts(["a b", "a"])
    for value in WRONG[name]:
        described = json.loads(tokenizer.to_json())
        described["config"][name] = value
        with pytest.raises(ValueError, match="no tokenizer is described"):
            keras.preprocessing.text.tokenizer_from_json(json.dumps(described))


def test_custom_objects_are_known_inside_their_scope():
    def steep(x):
        return x * 3

    with keras.utils.custom_object_scope({"steep": steep}):
        assert keras.layers.Dense(1, activation="steep").activation is steep
    with pytest.raises(ValueError, match="unknown activation: 'steep'"):
        keras.layers.Dense(1, activation="steep")


def test_the_settings():
    K = keras.backend
    assert (K.floatx(), K.image_data_format(), K.epsilon()) == ("float32", "channels_last", 1e-7)
    K.set_floatx("float64")
    try:
        assert keras.layers.Dense(1)(keras.Input([2])).dtype is sg.float64
    finally:
        K.set_floatx("float32")
    with pytest.raises(ValueError, match="float16, float32, float64"):
        K.set_floatx("int32")
