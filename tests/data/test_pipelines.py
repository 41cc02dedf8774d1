"""Pipelines from end to end: training from every kind of iterator, their ends, memory, mixed and CSV data."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.data import Dataset
from staticgraph.tf1.data import experimental as more
from staticgraph.tf1.data.transformations.cardinality import UNKNOWN_CARDINALITY

X = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
Y = X @ np.array([1, -2, 3], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with sg.Graph().as_default():
        yield


def data(x=X, y=Y):
    return Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(16)


def trained(element):
    """The variable and the step of a linear model for elements (rows, targets)."""
    rows, wanted = element
    w = sg.Variable(sg.zeros([3, 1]))
    loss = sg.losses.mean_squared_error(wanted, sg.squeeze(sg.matmul(rows, w), 1))
    return w, sg.train.GradientDescentOptimizer(0.3).minimize(loss)


def one_shot():
    element = data().repeat(12).make_one_shot_iterator().get_next()
    return element, lambda sess: [{}]


def initializable():
    x, y = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.float32, [None])
    iterator = data(x, y).make_initializable_iterator()

    def epochs(sess):
        for _ in range(12):
            sess.run(iterator.initializer, {x: X, y: Y})
            yield {}

    return iterator.get_next(), epochs


def reinitializable():
    dataset = data()
    iterator = sg.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    begin = iterator.make_initializer(dataset)

    def epochs(sess):
        for _ in range(12):
            sess.run(begin)
            yield {}

    return iterator.get_next(), epochs


def feedable():
    handle = sg.placeholder(sg.string, [])
    dataset = data()
    iterators = [dataset.make_initializable_iterator() for _ in range(2)]
    of_all = sg.data.Iterator.from_string_handle(handle, dataset.output_types, dataset.output_shapes)
    names = [iterator.string_handle() for iterator in iterators]

    def epochs(sess):
        handles = sess.run(names)
        for i in range(12):
            sess.run(iterators[i % 2].initializer)
            yield {handle: handles[i % 2]}

    return of_all.get_next(), epochs


@pytest.mark.parametrize("kind", [one_shot, initializable, reinitializable, feedable])
def test_every_kind_of_iterator_trains(kind):
    element, epochs = kind()
    w, step = trained(element)
    steps = 0
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for fed in epochs(sess):
            with pytest.raises(sg.errors.OutOfRangeError):
                while True:
                    sess.run(step, fed)
                    steps += 1
        weights = sess.run(w).ravel()
    assert steps == 12 * 4
    np.testing.assert_allclose(weights, [1, -2, 3], atol=0.1)


def test_a_monitored_session_stops_at_the_end_and_keeps_what_was_learned(tmp_path):
    global_step = sg.train.get_or_create_global_step()
    w, step = trained(data().repeat(3).prefetch(2).make_one_shot_iterator().get_next())
    count = sg.assign_add(global_step, 1)
    with sg.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), log_step_count_steps=None) as sess:
        while not sess.should_stop():
            sess.run([step, count])
    assert not [t for t in threading.enumerate() if t.name == "prefetch" and not _ends(t)]
    with sg.Session() as sess:
        sg.train.Saver().restore(sess, sg.train.latest_checkpoint(str(tmp_path)))
        assert int(sess.run(global_step)) == 12 and np.abs(sess.run(w)).max() > 0.5


def _ends(thread):
    gc.collect()
    thread.join(30)
    return not thread.is_alive()


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "extend",
    [
        lambda d: d.shuffle(64).batch(16),
        lambda d: d.shuffle(16).repeat(3).map(lambda x, y: (x, y)).batch(16),
        lambda d: d.batch(16).prefetch(2),
        lambda d: d.map(lambda x, y: (x * 2, y), num_parallel_calls=2).padded_batch(16, ([3], [])),
    ],
)
def test_memory_stays_the_same_over_many_epochs(extend):
    iterator = extend(Dataset.from_tensor_slices((X, Y))).make_initializable_iterator()
    _, step = trained(iterator.get_next())

    def epochs(count):
        for _ in range(count):
            sess.run(iterator.initializer)
            try:
                while True:
                    sess.run(step)
            except sg.errors.OutOfRangeError:
                pass
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        tracemalloc.start()
        try:
            before = epochs(5)
            after = epochs(30)
        finally:
            tracemalloc.stop()
    assert after - before < 30 * X.nbytes / 2  # far less than what all epochs take


def test_threads_of_map_stop_with_the_session():
    dataset = Dataset.range(10**6).map(lambda x: x + 1, num_parallel_calls=2)
    element = dataset.make_one_shot_iterator().get_next()
    before = set(threading.enumerate())
    sess = sg.Session()
    assert int(sess.run(element)) == 1
    threads = [t for t in threading.enumerate() if t.name.startswith("map") and t not in before]
    assert threads
    sess.close()
    assert all(map(_ends, threads))


def test_batches_of_rows_are_those_of_elements():
    """Batches right behind slices that were only selected are cut out of the arrays."""
    parts = (["a", "b", "c", "d", "e"], np.asfortranarray(np.arange(10).reshape(5, 2)), np.arange(5.0))
    slices = Dataset.from_tensor_slices(parts).shuffle(3, seed=1).repeat(3).skip(1).take(13)
    found = []
    for dataset in (slices.batch(4), slices.map(lambda *element: element).batch(4)):
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            found.append([sess.run(element) for _ in range(4)])
    for one, other in zip(*found, strict=True):
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


class TestCsv:
    @pytest.fixture
    def path(self, tmp_path):
        (tmp_path / "a.csv").write_text("n,x,s,big\n1,2.5,u,9999999999\n2,,v,3\n3,4,w,\n")
        return str(tmp_path / "*.csv")

    def batches(self, dataset, count=10):
        element = dataset.make_one_shot_iterator().get_next()
        found = []
        with sg.Session() as sess:
            try:
                for _ in range(count):
                    found.append(sess.run(element))
            except sg.errors.OutOfRangeError:
                pass
        return found

    def test_names_and_types_come_from_the_file(self, path):
        dataset = more.make_csv_dataset(path, 2, label_name="s", num_epochs=1, shuffle=False)
        first, last = self.batches(dataset)
        types = {name: column.dtype.name for name, column in first[0].items()}
        assert types == {"n": "int32", "x": "float32", "big": "int64"}
        assert first[0]["big"].tolist() == [9999999999, 3] and first[1].tolist() == [b"u", b"v"]
        assert last[0]["n"].tolist() == [3] and last[0]["x"].tolist() == [4]

    @pytest.mark.takes_long
    def test_columns_are_chosen(self, path):
        dataset = more.make_csv_dataset(path, 2, select_columns=["x", 0], shuffle_seed=3)
        assert dataset.output_shapes["n"].as_list() == [2]
        found = self.batches(dataset, 3)
        assert sorted(n for batch in found for n in batch["n"].tolist()) == [1, 1, 2, 2, 3, 3]

    def test_rows_with_errors_can_be_left_out(self, path):
        dataset = more.make_csv_dataset(
            path,
            4,
            column_defaults=[sg.int32, sg.float32],
            select_columns=["n", "x"],
            num_epochs=1,
            shuffle=False,
            ignore_errors=True,
        )
        (batch,) = self.batches(dataset)
        assert batch["n"].tolist() == [1, 3]

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"label_name": "none"}, "label_name 'none' is not one of the columns"),
            ({"select_columns": ["none"]}, "select_columns has 'none'"),
            ({"select_columns": [9]}, "select_columns has 9"),
            ({"select_columns": [0, "n"]}, "a column twice"),
            ({"select_columns": [0], "column_defaults": [0, 1]}, "as many column_defaults"),
            ({"header": False}, "column_names must be given"),
            ({"column_names": ["a", "a"]}, "two columns have one name"),
        ],
    )
    def test_mistakes(self, path, arguments, text):
        with pytest.raises(ValueError, match=text):
            more.make_csv_dataset(path, 2, **arguments)

    def test_files_that_differ(self, path, tmp_path):
        (tmp_path / "b.csv").write_text("other,x\n1,2\n")
        with pytest.raises(ValueError, match=r"the header line of .*b.csv is 'other,x'"):
            more.make_csv_dataset(path, 2)


def test_dense_tables_refuse_their_two_keys():
    make = sg.lookup.experimental.DenseHashTable
    table = make(sg.string, sg.float32, [0.0, 0.0], empty_key="", deleted_key="$")
    key = sg.placeholder(sg.string, [None])
    insert, found = table.insert(key, [[1.0, 2.0]]), table.lookup(key)
    with sg.Session() as sess:
        sess.run(insert, {key: ["a"]})
        assert sess.run(found, {key: ["a", "b"]}).tolist() == [[1, 2], [0, 0]]
        with pytest.raises(sg.errors.InvalidArgumentError, match="Using the empty_key as a table key"):
            sess.run(found, {key: [""]})
        with pytest.raises(sg.errors.InvalidArgumentError, match="Using the deleted_key as a table key"):
            sess.run(insert, {key: ["$"]})
    with pytest.raises(ValueError, match="two different keys"):
        make(sg.int64, sg.int64, 0, empty_key=5, deleted_key=5)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: Dataset.range(5).apply(more.ignore_errors()), UNKNOWN_CARDINALITY),
        (lambda: Dataset.range(5).repeat().skip(-1), 0),
        (lambda: Dataset.range(5).take(-1), 5),
    ],
)
def test_a_cardinality_is_never_wrong(build, expected):
    # TensorFlow 1.15 says 5, infinite and infinite.
    with sg.Session() as sess:
        assert sess.run(more.cardinality(build())) == expected


def test_the_cardinality_of_a_dataset_of_fed_size():
    count = sg.placeholder(sg.int64, [])
    number = more.cardinality(Dataset.range(count).batch(2))
    with sg.Session() as sess:
        assert [int(sess.run(number, {count: n})) for n in (3, 8)] == [2, 4]


def test_functions_of_host_ops_give_what_runs_of_them_give():
    """Python computes them without a session, also in several threads."""

    def parsed(line):
        number, word = sg.io.decode_csv(line, [[0], ["none"]])
        return {"word": sg.strings.join([word, greeting]), "number": number, "line": line}

    greeting = sg.placeholder(sg.string, [])
    lines = [f"{i},w{i}" if i % 3 else f"{i}," for i in range(40)]
    made = Dataset.from_tensor_slices(lines)
    iterators = [
        each.make_initializable_iterator()
        for each in (made.map(parsed), made.map(parsed, 4), made.map(parsed).filter(lambda e: True))
    ]
    elements = [iterator.get_next() for iterator in iterators]
    line = sg.placeholder(sg.string, [])
    by_run = parsed(line)
    with sg.Session() as sess:
        sess.run([iterator.initializer for iterator in iterators], {greeting: "!"})
        for text in lines:
            expected = sess.run(by_run, {line: text, greeting: "!"})
            assert sess.run(elements) == [expected] * 3


def test_a_line_that_a_function_of_host_ops_cannot_read_is_an_error_of_its_own_element():
    made = Dataset.from_tensor_slices(["1", "two", "3"]).map(lambda line: sg.io.decode_csv(line, [[0]]))
    element = made.make_one_shot_iterator().get_next()
    with sg.Session() as sess:
        assert sess.run(element) == (1,)
        with pytest.raises(sg.errors.InvalidArgumentError, match="'two' is not a number") as caught:
            sess.run(element)
        assert "test_pipelines.py" in str(caught.value)
        assert sess.run(element) == (3,)
