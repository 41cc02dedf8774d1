"""Data of each kind become arrays; what is wrong with a file is told with the place in it."""

import struct
import zipfile

import numpy as np
import pytest
from PIL import Image

from staticgraph.applications.solver.data import full_batches, prepare
from staticgraph.applications.solver.errors import DataError, DescriptionError
from staticgraph.applications.solver.objective import Answer
from tests.solver.descriptions import SPIRAL, described, spiral, with_spiral

HOUSES = "rooms;age;price\n2;10;1.5\n3;5;2.5\n4;1;4\n5;30;3\n"


def of(kind: str, *lines: str) -> str:
    """The description with other data."""
    return SPIRAL.replace('npz = "spiral.npz"', "\n".join([kind, *lines])).replace(
        "batch_size = 8", "batch_size = 2"
    )


def told(folder, text, answer=Answer.CLASS):
    with pytest.raises((DataError, DescriptionError)) as caught:
        prepare(described(folder, text), answer)
    return str(caught.value).replace(f"{folder}/", "")


def test_arrays_are_divided_the_same_way_each_time(tmp_path):
    found = [prepare(with_spiral(tmp_path), Answer.CLASS) for _ in range(2)]
    inputs, _ = spiral()
    assert len(found[0].training) == 96 and len(found[0].validation) == 24 and found[0].steps == 12
    for one, other in zip(found[0].training.inputs, found[1].training.inputs, strict=True):
        np.testing.assert_array_equal(one, other)
    both = np.concatenate([found[0].training.inputs, found[0].validation.inputs])
    np.testing.assert_array_equal(np.sort(both[:, 0]), np.sort(inputs[:, 0]))
    other = prepare(with_spiral(tmp_path, SPIRAL, "data.seed=1"), Answer.CLASS)
    assert (other.validation.inputs != found[0].validation.inputs).any()


def test_the_order_of_an_epoch_does_not_depend_on_where_it_begins(tmp_path):
    data = prepare(with_spiral(tmp_path), Answer.CLASS)
    whole = [batch.inputs for batch, _ in zip(data.batches(0), range(40), strict=False)]
    for begin in (1, 11, 12, 13, 30):
        rest = [batch.inputs for batch, _ in zip(data.batches(begin), range(40 - begin), strict=False)]
        np.testing.assert_array_equal(np.stack(rest), np.stack(whole[begin:]))
    first, second = (np.concatenate(whole[e * 12 : e * 12 + 12]) for e in (0, 1))
    assert (first != second).any()
    np.testing.assert_array_equal(np.sort(first[:, 0]), np.sort(second[:, 0]))


def test_without_shuffling_examples_come_as_they_are(tmp_path):
    data = prepare(with_spiral(tmp_path, SPIRAL, "data.shuffle=false"), Answer.CLASS)
    np.testing.assert_array_equal(next(data.batches(0)).inputs, data.training.inputs[:8])


def test_full_batches_count_each_example_once(tmp_path):
    data = prepare(with_spiral(tmp_path), Answer.CLASS)
    batches = list(full_batches(data.validation, 7))
    assert [len(batch) for batch, _ in batches] == [7, 7, 7, 7] and [n for _, n in batches] == [7, 7, 7, 3]
    counted = np.concatenate([batch.inputs[:n] for batch, n in batches])
    np.testing.assert_array_equal(counted, data.validation.inputs)


@pytest.mark.parametrize("how", ["range", "standard"])
def test_inputs_are_normalised_by_column(tmp_path, how):
    data = prepare(with_spiral(tmp_path, SPIRAL, f"data.normalize={how}"), Answer.CLASS)
    made = (data.training.inputs - data.normalization.offset) * data.normalization.scale
    low, high = (made.min(0), made.max(0)) if how == "range" else (made.mean(0), made.std(0))
    np.testing.assert_allclose(low, 0, atol=1e-6)
    np.testing.assert_allclose(high, 1, rtol=1e-5)


def test_a_column_that_never_changes_stays_finite(tmp_path):
    np.savez(tmp_path / "spiral.npz", inputs=np.ones((12, 2)), labels=np.arange(12) % 3)
    data = prepare(described(tmp_path), Answer.CLASS)
    assert np.isfinite(data.normalization.scale).all()


def test_a_table_with_numbers(tmp_path):
    (tmp_path / "houses.csv").write_text(HOUSES)
    text = of('csv = "houses.csv"', 'separator = ";"', "shuffle = false", "validation = 0.25")
    data = prepare(described(tmp_path, text), Answer.NUMBER)
    assert data.training.inputs.shape == (3, 2) and data.training.labels.dtype == np.float32
    assert {*data.training.labels.tolist(), *data.validation.labels.tolist()} == {1.5, 2.5, 4, 3}
    chosen = of('csv = "houses.csv"', 'separator = ";"', 'inputs = "price"', 'labels = ["age", "rooms"]')
    assert prepare(described(tmp_path, chosen), Answer.NUMBER).training.labels.shape == (3, 2)


def test_names_of_classes_become_numbers_in_their_order(tmp_path):
    rows = "".join(f"{n},{name}\n" for n, name in enumerate(["pear", "apple", "fig", "apple", "pear", "fig"]))
    (tmp_path / "fruit.csv").write_text(f"weight,name\n{rows}")
    (tmp_path / "more.csv").write_text("weight,name\n7,fig\n")
    data = prepare(described(tmp_path, of('csv = "fruit.csv"', 'validation = "more.csv"')), Answer.CLASS)
    assert data.classes == ("apple", "fig", "pear")
    assert data.training.labels.tolist() == [2, 0, 1, 0, 2, 1] and data.validation.labels.tolist() == [1]
    (tmp_path / "more.csv").write_text("weight,name\n7,plum\n")
    assert "the class 'plum' is validated with" in told(
        tmp_path, of('csv = "fruit.csv"', 'validation = "more.csv"')
    )


BAD_TABLES = {
    "no number": (
        "2;10;1.5\n3;x;2.5\n",
        "houses.csv:3: column age: 'x' is not a number\n"
        '  hint: mend it, or leave the column out: inputs = ["rooms"]',
    ),
    "nan": ("2;nan;1.5\n", "houses.csv:2: column age: 'nan' is not a number\n"),
    "empty cell": ("2;10;1.5\n;5;2.5\n", "houses.csv:3: column rooms: the cell is empty\n"),
    "short row": ("2;10\n", "houses.csv:2: the row has 2 cells, and the head 3\n"),
    "label": ("2;10;cheap\n", "houses.csv: the label of example 1 is 'cheap', and must be a number"),
    "no rows": ("", "houses.csv has a head and no rows"),
}


@pytest.mark.parametrize(("rows", "expected"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_cell_is_named(tmp_path, rows, expected):
    (tmp_path / "houses.csv").write_text(f"rooms;age;price\n{rows}")
    assert told(tmp_path, of('csv = "houses.csv"', 'separator = ";"'), Answer.NUMBER).startswith(expected)


BAD_COLUMNS = {
    "labels": ('labels = "prize"', "net.toml:3: houses.csv has no column 'prize'"),
    "inputs": ('inputs = ["rooms", "ages"]', "net.toml:3: houses.csv has no column 'ages'"),
    "separator": ('separator = "ab"', "a separator is one character, not 'ab'"),
}


@pytest.mark.parametrize(("line", "expected"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_columns_that_are_not_there(tmp_path, line, expected):
    (tmp_path / "houses.csv").write_text(HOUSES.replace(";", ","))
    assert told(tmp_path, of('csv = "houses.csv"', line)).startswith(expected)


def test_files_that_are_no_tables(tmp_path):
    text = of('csv = "houses.csv"')
    assert told(tmp_path, text) == f"net.toml:2: there is no {tmp_path}/houses.csv".replace(
        f"{tmp_path}/", ""
    ) + (
        '\n    2 | csv = "houses.csv"\n              ^^^^^^^^^^^^\n  hint: paths count from the folder of the description'
    )
    (tmp_path / "hauses.csv").touch()
    assert "did you mean 'hauses.csv'?" in told(tmp_path, text)
    (tmp_path / "houses.csv").touch()
    assert "houses.csv is empty" in told(tmp_path, text)
    (tmp_path / "houses.csv").write_bytes(b"a,b\n1,\xff")
    assert "houses.csv is not text in UTF-8" in told(tmp_path, text)
    (tmp_path / "houses.csv").write_text('a,b\n1,"x"y\n')
    assert "houses.csv:2: not a table" in told(tmp_path, text)
    (tmp_path / "houses.csv").write_text("a,a\n1,2\n")
    assert "two columns have the name 'a'" in told(tmp_path, text)


ARRAYS = {
    "names": ({"x": np.ones((9, 2)), "labels": np.arange(9)}, "net.toml:2: spiral.npz has no array 'inputs'"),
    "lengths": ({"inputs": np.ones((9, 2)), "labels": np.arange(8)}, "there are 9 inputs and 8 labels"),
    "nan": ({"inputs": np.full((9, 2), np.nan), "labels": np.arange(9)}, "example 0 has a NaN"),
    "texts": (
        {"inputs": np.array(["a"] * 9), "labels": np.arange(9)},
        "the inputs are <U1, and must be numbers",
    ),
    "labels": (
        {"inputs": np.ones((9, 2)), "labels": np.arange(9) - 1},
        "the label of example 0 is -1, and must be a class",
    ),
    "objects": (
        {"inputs": np.array([None] * 9), "labels": np.arange(9)},
        "is not a file of arrays that can be read",
    ),
    "few": (
        {"inputs": np.ones((2, 2)), "labels": np.arange(2)},
        "there are 1 examples to train on, fewer than a batch of 8",
    ),
}


@pytest.mark.parametrize(("arrays", "expected"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_do_not_do(tmp_path, arrays, expected):
    np.savez(tmp_path / "spiral.npz", **arrays)
    assert expected in told(tmp_path, SPIRAL)


def test_a_damaged_file_of_arrays(tmp_path):
    with_spiral(tmp_path)
    whole = (tmp_path / "spiral.npz").read_bytes()
    (tmp_path / "spiral.npz").write_bytes(whole[: len(whole) // 2])
    assert "is not a file of arrays that can be read" in told(tmp_path, SPIRAL)


@pytest.mark.parametrize(("shape", "kind"), [((10**15,), "<f8"), ((2**70,), "<f8"), ((3,), "<q99999999999")])
def test_arrays_that_claim_more_than_there_is(tmp_path, shape, kind):
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    with_spiral(tmp_path)
    with zipfile.ZipFile(tmp_path / "spiral.npz", "w") as file:
        for name in ("inputs", "labels"):
            data = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(24)
            file.writestr(f"{name}.npy", data)
    assert "is not a file of arrays that can be read" in told(tmp_path, SPIRAL)


def test_examples_get_the_shape_that_is_asked_for(tmp_path):
    data = prepare(with_spiral(tmp_path, SPIRAL, "data.shape=[2,1]"), Answer.CLASS)
    assert data.training.inputs.shape == (96, 2, 1)
    text = SPIRAL.replace("batch_size = 8", "batch_size = 8\nshape = [3]")
    assert "an example has the shape [2], which cannot become [3]" in told(tmp_path, text)


def pictures(folder, sizes=((6, 4),)):
    for name, level in (("dark", 40), ("light", 200)):
        (folder / "pictures" / name).mkdir(parents=True)
        for n in range(4):
            height, width = sizes[n % len(sizes)]
            pixels = np.full((height, width, 3), level + n, np.uint8)
            Image.fromarray(pixels).save(folder / "pictures" / name / f"{n}.{'png' if n % 2 else 'jpg'}")
    return of('images = "pictures"')


def test_a_folder_of_pictures(tmp_path):
    data = prepare(described(tmp_path, pictures(tmp_path)), Answer.CLASS)
    assert data.classes == ("dark", "light") and data.training.inputs.shape == (6, 6, 4, 3)
    for picture, label in zip(data.training.inputs, data.training.labels, strict=True):
        assert abs(float(picture.mean()) - (40, 200)[label]) < 6


def test_pictures_are_scaled_and_made_gray(tmp_path):
    text = pictures(tmp_path, sizes=((6, 4), (9, 9)))
    assert "are of different sizes, 6 × 4 and 9 × 9" in told(tmp_path, text)
    scaled = text.replace('"pictures"', '"pictures"\nsize = [3, 5]\nchannels = 1')
    data = prepare(described(tmp_path, scaled), Answer.CLASS)
    assert data.training.inputs.shape == (6, 3, 5, 1) and data.training.inputs.dtype == np.uint8


def test_folders_of_pictures_that_do_not_do(tmp_path):
    text = pictures(tmp_path)
    (tmp_path / "pictures" / "empty").mkdir()
    assert told(tmp_path, text).startswith("the class empty has no pictures: pictures/empty\n")
    (tmp_path / "pictures" / "empty" / "no.png").write_bytes(b"no picture")
    assert told(tmp_path, text) == "pictures/empty/no.png is not a picture that can be read"
    (tmp_path / "nothing").mkdir()
    assert told(tmp_path, text.replace('"pictures"', '"nothing"')).startswith("nothing has no folders")
    assert "net.toml is a file, and images takes a folder" in told(
        tmp_path, text.replace('"pictures"', '"net.toml"')
    )


def test_a_data_set_that_is_not_known(tmp_path):
    assert "there is no data set 'digit'" in told(tmp_path, of('dataset = "digit"'))
