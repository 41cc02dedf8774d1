"""Datasets: what golden cases do not show. Threads, captures, sessions, files, errors."""

import gc
import gzip
import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.data import Dataset
from staticgraph.tf1.data import experimental as more
from staticgraph.tf1.data.encoding import decoded


@pytest.fixture(autouse=True)
def graph():
    with sg.Graph().as_default():
        yield


def values(dataset, count=100):
    """The first elements of a dataset."""
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with sg.Session() as sess:
        try:
            while len(found) < count:
                found.append(sess.run(element))
        except sg.errors.OutOfRangeError:
            pass
    return found


def numbers(dataset, count=100):
    return [int(value) for value in values(dataset, count)]


class TestFunctions:
    def test_leave_nothing_in_the_graph(self):
        before = sg.get_default_graph().get_operations()
        sg.constant(1.0, name="x")
        Dataset.range(3).map(lambda x: sg.identity(x * 2 + 1, name="inside")).filter(lambda x: x > 0)
        names = [op.name for op in sg.get_default_graph().get_operations()]
        assert names == [op.name for op in before] + ["x"]
        assert sg.constant(1.0, name="inside").op.name == "inside"

    def test_leave_nothing_in_collections(self):
        Dataset.range(3).map(lambda x: sg.summary.scalar("seen", x))
        assert sg.get_collection(sg.GraphKeys.SUMMARIES) == []

    def test_capture_tensors_at_the_time_of_the_initializer(self):
        scale = sg.placeholder(sg.int64, [])
        shift = sg.Variable(np.int64(100))
        iterator = Dataset.range(3).map(lambda x: x * scale + shift).make_initializable_iterator()
        element = iterator.get_next()
        with sg.Session() as sess:
            sess.run(shift.initializer)
            sess.run(iterator.initializer, {scale: 7})
            assert int(sess.run(element)) == 100
            sess.run(shift.assign(0))
            assert int(sess.run(element)) == 107

    def test_capture_inside_each_other(self):
        outer = sg.constant(1000, sg.int64)
        dataset = Dataset.range(3).flat_map(lambda n: Dataset.range(2).map(lambda m: outer + n * 10 + m))
        assert numbers(dataset) == [1000, 1001, 1010, 1011, 1020, 1021]

    def test_use_tables_of_the_session(self):
        words = sg.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20])
        table = sg.lookup.StaticHashTable(words, -1)
        iterator = Dataset.from_tensor_slices(["b", "z"]).map(table.lookup).make_initializable_iterator()
        element = iterator.get_next()
        with sg.Session() as sess:
            sess.run([sg.tables_initializer(), iterator.initializer])
            assert [int(sess.run(element)) for _ in range(2)] == [20, -1]

    def test_cannot_change_variables(self):
        count = sg.Variable(0)
        with pytest.raises(ValueError, match="cannot make or change variables"):
            Dataset.range(3).map(lambda x: sg.assign_add(count, 1))

    def test_are_called_once_per_element(self):
        seen = []

        def note(x):
            seen.append(int(x))
            return np.int64(x)

        assert numbers(Dataset.range(5).map(lambda x: sg.py_func(note, [x], sg.int64))) == list(range(5))
        assert seen == list(range(5))

    @pytest.mark.parametrize("calls", [1, 3, more.AUTOTUNE])
    def test_keep_the_order_at_once(self, calls):
        assert numbers(Dataset.range(40).map(lambda x: x * x, num_parallel_calls=calls)) == [
            n * n for n in range(40)
        ]

    def test_work_at_once(self):
        both = threading.Barrier(2, timeout=30)

        def meet(x):
            both.wait()
            return x

        dataset = Dataset.range(6).map(lambda x: sg.py_func(meet, [x], sg.int64), num_parallel_calls=2)
        assert numbers(dataset) == list(range(6))

    @pytest.mark.parametrize("calls", [None, 4])
    def test_draw_the_same_numbers_each_time(self, calls):
        dataset = Dataset.range(5).map(lambda x: sg.random_uniform([], seed=3), num_parallel_calls=calls)
        first, second = values(dataset), values(dataset)
        assert first == second and len(set(map(float, first))) == 5

    def test_take_words(self):
        dataset = Dataset.from_tensor_slices(["a b", "c"]).map(lambda s: sg.strings.length(s))
        assert numbers(dataset) == [3, 1]

    def test_fail_for_one_element(self):
        dataset = Dataset.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: sg.check_numerics(1 / x, "none"))
        for each in (dataset, dataset.prefetch(1)):
            element = each.make_one_shot_iterator().get_next()
            with sg.Session() as sess:
                assert sess.run(element) == 1
                with pytest.raises(sg.errors.InvalidArgumentError):
                    sess.run(element)
                assert sess.run(element) == 0.25

    def test_errors_name_the_line_inside(self):
        dataset = Dataset.from_tensors(["1", "x"]).map(
            lambda s: sg.strings.to_number(s)  # not all are
        )
        with pytest.raises(sg.errors.InvalidArgumentError) as caught:
            values(dataset)
        assert "lambda s: sg.strings.to_number(s)  # not all are" in str(caught.value)

    def test_of_several_threads_fail_in_their_turn(self):
        dataset = Dataset.from_tensor_slices([1.0, 0.0, 4.0]).map(
            lambda x: sg.check_numerics(1 / x, "none"), num_parallel_calls=3
        )
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert sess.run(element) == 1
            with pytest.raises(sg.errors.InvalidArgumentError):
                sess.run(element)
            assert sess.run(element) == 0.25


class TestIterators:
    def test_belong_to_sessions(self):
        element = Dataset.range(5).make_one_shot_iterator().get_next()
        with sg.Session() as one, sg.Session() as two:
            assert [int(s.run(element)) for s in (one, two, one, one, two)] == [0, 0, 1, 2, 1]

    def test_can_be_fed(self):
        handle = sg.placeholder(sg.string, [])
        element = sg.data.Iterator.from_string_handle(handle, sg.int64, []).get_next() * 2
        train, test = (d.make_one_shot_iterator() for d in (Dataset.range(3), Dataset.range(10, 13)))
        with sg.Session() as sess:
            one, two = sess.run([train.string_handle(), test.string_handle()])
            assert [int(sess.run(element, {handle: h})) for h in (one, two, one, two)] == [0, 20, 2, 22]
            with pytest.raises(sg.errors.InvalidArgumentError, match="string_handle"):
                sess.run(element, {handle: "other"})

    def test_can_be_initialised_again(self):
        x = sg.placeholder(sg.float32, [None])
        iterator = Dataset.from_tensor_slices(x).make_initializable_iterator()
        element = iterator.get_next()
        with sg.Session() as sess:
            given = np.array([1, 2, 3], np.float32)
            sess.run(iterator.initializer, {x: given})
            given[:] = 9
            assert [float(sess.run(element)) for _ in range(3)] == [1, 2, 3]
            sess.run(iterator.initializer, {x: [5]})
            assert sess.run(element) == 5
            with pytest.raises(sg.errors.OutOfRangeError, match="End of sequence"):
                sess.run(element)

    def test_of_a_structure_take_datasets_that_fit(self):
        iterator = sg.data.Iterator.from_structure((sg.int64, sg.float32), ([], [None]))
        fits = Dataset.zip((Dataset.range(2), Dataset.from_tensors([1.0, 2.0]).repeat()))
        begin = iterator.make_initializer(fits)
        with pytest.raises(TypeError, match="the iterator has elements"):
            iterator.make_initializer(Dataset.zip((Dataset.range(2), Dataset.from_tensors(1.0))))
        first, second = iterator.get_next()
        with sg.Session() as sess:
            sess.run(begin)
            assert int(sess.run(first + sg.cast(sg.size(second), sg.int64))) == 2

    def test_feed_a_training_step(self):
        x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
        y = x @ np.array([1, -2, 3], np.float32)
        dataset = Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).repeat(12).batch(16).prefetch(1)
        rows, wanted = dataset.make_one_shot_iterator().get_next()
        w = sg.Variable(sg.zeros([3, 1]))
        loss = sg.losses.mean_squared_error(wanted, sg.squeeze(sg.matmul(rows, w), 1))
        step = sg.train.GradientDescentOptimizer(0.3).minimize(loss)
        with sg.train.MonitoredSession() as sess:
            weights = []
            while not sess.should_stop():
                weights.append(sess.run([step, w])[1])
        assert len(weights) == 12 * 64 // 16
        np.testing.assert_allclose(weights[-1].ravel(), [1, -2, 3], atol=0.1)

    def test_give_sparse_tensors(self):
        dataset = Dataset.range(3).map(lambda n: sg.SparseTensor([[n]], [n * 10], [4]))
        assert dataset.output_classes is sg.SparseTensor
        element = dataset.batch(3).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            found = sess.run(sg.sparse_tensor_to_dense(element))
        assert found.tolist() == [[0, 0, 0, 0], [0, 10, 0, 0], [0, 0, 20, 0]]

    def test_slice_sparse_tensors(self):
        x = sg.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2])
        element = Dataset.from_tensor_slices(x).make_one_shot_iterator().get_next()
        parts = Dataset.from_sparse_tensor_slices(x).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            dense = sg.sparse_tensor_to_dense(element)
            assert [sess.run(dense).tolist() for _ in range(3)] == [[0, 5], [0, 0], [7, 0]]
            assert [part.tolist() for part in sess.run(parts)] == [[[1]], [5], [2]]


class TestPrefetch:
    def test_stops_its_thread_when_nobody_listens(self):
        before = threading.active_count()
        element = Dataset.range(10**9).prefetch(2).make_one_shot_iterator().get_next()
        sess = sg.Session()
        assert int(sess.run(element)) == 0
        threads = [t for t in threading.enumerate() if t.name == "prefetch"]
        sess.close()
        gc.collect()
        for thread in threads:
            thread.join(30)
        assert threading.active_count() <= before

    def test_is_bounded(self):
        seen, enough = [], threading.Semaphore(0)

        def produce():
            for n in range(100):
                seen.append(n)
                enough.release()
                yield n

        dataset = Dataset.from_generator(produce, sg.int64, []).prefetch(3)
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            sess.run(element)
            for _ in range(5):  # one taken, three ready, one waiting for room
                assert enough.acquire(timeout=30)
            assert len(seen) == 5


class TestFiles:
    def test_lines(self, tmp_path):
        (tmp_path / "a").write_bytes(b"one\r\ntwo\n")
        (tmp_path / "b").write_bytes(gzip.compress(b"three\nfour" * 1000))
        assert values(sg.data.TextLineDataset(str(tmp_path / "a"))) == [b"one", b"two"]
        packed = values(sg.data.TextLineDataset([str(tmp_path / "b")], "GZIP"), 2000)
        assert packed[:2] == [b"three", b"fourthree"] and len(packed) == 1001

    def test_names_from_a_dataset(self, tmp_path):
        for name in "ba":
            (tmp_path / name).write_text(f"{name}1\n{name}2\n")
        names = Dataset.list_files(str(tmp_path / "*"), shuffle=False)
        assert values(sg.data.TextLineDataset(names)) == [b"a1", b"a2", b"b1", b"b2"]
        lines = names.interleave(sg.data.TextLineDataset, cycle_length=2)
        assert values(lines) == [b"a1", b"b1", b"a2", b"b2"]

    def test_tf_records(self, tmp_path):
        path = str(tmp_path / "records")
        with sg.io.TFRecordWriter(path, "ZLIB") as writer:
            for n in range(3):
                writer.write(np.int32(n).tobytes())
        dataset = sg.data.TFRecordDataset(path, "ZLIB").map(lambda s: sg.io.decode_raw(s, sg.int32)[0])
        assert numbers(dataset) == [0, 1, 2]

    def test_a_damaged_file_of_records(self, tmp_path):
        path = tmp_path / "records"
        with sg.io.TFRecordWriter(path) as writer:
            writer.write(b"good")
            writer.write(b"bad")
        contents = bytearray(path.read_bytes())
        contents[-6] ^= 1
        path.write_bytes(contents)
        element = sg.data.TFRecordDataset(str(path)).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert sess.run(element) == b"good"
            with pytest.raises(sg.errors.DataLossError, match="the checksum of the 3 bytes differs"):
                sess.run(element)

    def test_records_of_one_length(self, tmp_path):
        (tmp_path / "a").write_bytes(b"Haabbcc--")
        assert values(sg.data.FixedLengthRecordDataset(str(tmp_path / "a"), 2, 1, 2)) == [b"aa", b"bb", b"cc"]
        with pytest.raises(sg.errors.InvalidArgumentError, match="no multiple of 4"):
            values(sg.data.FixedLengthRecordDataset(str(tmp_path / "a"), 4, 1, 2))

    def test_rows(self, tmp_path):
        (tmp_path / "a.csv").write_text('n,x,s\n1,2.5,"a, b"\n2,,c\n')
        path = str(tmp_path / "a.csv")
        found = values(more.CsvDataset(path, [sg.int32, 9.0, sg.string], header=True))
        assert found == [(1, 2.5, b"a, b"), (2, 9.0, b"c")]
        words = more.CsvDataset(path, [sg.string], header=True, select_cols=[2])
        assert values(words) == [(b"a, b",), (b"c",)]
        with pytest.raises(sg.errors.InvalidArgumentError, match="line 3: a required field is missing"):
            values(more.CsvDataset(path, [sg.int32, sg.float32, sg.string], header=True))

    def test_no_file_matches(self, tmp_path):
        with pytest.raises(sg.errors.InvalidArgumentError, match="No files matched"):
            values(Dataset.list_files(str(tmp_path / "*.none")))


class TestMistakes:
    def test_iterating_in_python(self):
        with pytest.raises(RuntimeError, match="make_one_shot_iterator"):
            list(Dataset.range(3))

    def test_batching_other_shapes(self):
        dataset = Dataset.range(1, 4).map(lambda n: sg.ones([n])).batch(2)  # here
        with pytest.raises(sg.errors.InvalidArgumentError, match=r"had shape \[1\] and element 1") as caught:
            values(dataset)
        assert ".batch(2)  # here" in str(caught.value) and "padded_batch" in str(caught.value)

    def test_a_generator_that_fails(self):
        def broken():
            yield 1
            raise KeyError("gone")

        with pytest.raises(sg.errors.UnknownError, match="KeyError: 'gone'"):
            values(Dataset.from_generator(broken, sg.int32))

    def test_windows_without_flat_map(self):
        with pytest.raises(TypeError, match="flat_map them"):
            Dataset.range(5).window(2).make_one_shot_iterator()


class TestCacheInAFile:
    def build(self, path, seen):
        def note(x):
            seen.append(int(x))
            return x

        dataset = Dataset.range(3).map(lambda x: sg.py_func(note, [x], sg.int64))
        dataset = dataset.map(lambda x: {"n": x, "s": sg.strings.as_string(x), "v": sg.fill([x], 0.5)})
        return dataset.cache(path)

    def test_is_read_by_later_passes_and_programs(self, tmp_path):
        path, seen = tmp_path / "kept", []
        found = values(self.build(path, seen).repeat(2)) + values(self.build(path, seen))
        assert [(int(e["n"]), e["s"], e["v"].tolist()) for e in found] == 3 * [
            (n, b"%d" % n, [0.5] * n) for n in range(3)
        ]
        assert seen == [0, 1, 2] and [p.name for p in tmp_path.iterdir()] == ["kept"]

    def test_is_there_only_when_it_is_complete(self, tmp_path):
        assert len(values(self.build(tmp_path / "kept", []), 2)) == 2
        gc.collect()
        assert not list(tmp_path.iterdir())

    def test_of_other_elements(self, tmp_path):
        path = str(tmp_path / "kept")
        values(Dataset.range(3).cache(path))
        with pytest.raises(sg.errors.DataLossError, match="holds no elements of these types") as caught:
            values(Dataset.range(3).map(lambda x: (x, x)).cache(path))  # other ones
        assert "# other ones" in str(caught.value)

    def test_that_is_damaged(self, tmp_path):
        path = tmp_path / "kept"
        values(Dataset.range(3).cache(str(path)))
        whole = path.read_bytes()
        for changed in (whole[:-1], whole[:-6] + b"x" + whole[-5:], b"", b"something else", whole[:60]):
            path.write_bytes(changed)
            with pytest.raises(sg.errors.DataLossError):
                values(Dataset.range(3).cache(str(path)))

    def test_in_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(sg.errors.OpError, match="cannot keep the elements"):
            values(Dataset.range(3).cache(str(tmp_path / "none" / "kept")))

    def test_named_by_a_tensor(self, tmp_path):
        name = sg.placeholder(sg.string, [])
        iterator = Dataset.range(2).cache(name).repeat(2).make_initializable_iterator()
        element = iterator.get_next()
        with sg.Session() as sess:
            for path in ("", str(tmp_path / "kept")):
                sess.run(iterator.initializer, {name: path})
                assert [int(sess.run(element)) for _ in range(4)] == [0, 1, 0, 1]
        assert [p.name for p in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    "data", [b"", b"\1", b"\0\x08" + b"\0" * 7, b"\2\4" + b"\xff" * 40, b"\0\x08" + b"\0" * 16]
)
def test_damaged_elements_are_refused(data):
    with pytest.raises(sg.errors.DataLossError):
        decoded(data, [sg.int64])


def test_cached_elements_are_computed_once():
    seen = []
    dataset = Dataset.range(3).map(lambda x: sg.py_func(lambda v: seen.append(v) or v, [x], sg.int64))
    assert numbers(dataset.cache().repeat(3)) == [0, 1, 2] * 3
    assert len(seen) == 3


def test_random_orders_without_a_seed_differ():
    orders = {tuple(numbers(Dataset.range(30).shuffle(30))) for _ in range(3)}
    assert len(orders) > 1 and all(sorted(order) == list(range(30)) for order in orders)


def test_an_order_without_a_seed_that_stays_is_that_of_each_repetition_and_of_each_part():
    dataset = Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)
    twice = numbers(dataset.repeat(2))
    assert twice[:30] == twice[30:] and sorted(twice[:30]) == list(range(30))
    assert sorted(numbers(dataset.take(20)) + numbers(dataset.skip(20))) == list(range(30))
    assert numbers(Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)) != twice[:30]


def test_sizes_may_be_tensors():
    size = sg.placeholder(sg.int64, [])
    iterator = Dataset.range(10).skip(size).take(size).batch(size).make_initializable_iterator()
    element = iterator.get_next()
    with sg.Session() as sess:
        sess.run(iterator.initializer, {size: 3})
        assert sess.run(element).tolist() == [3, 4, 5]


def test_an_initializer_of_a_structure_does_not_join_shuffling_with_its_repetition():
    """The orders are from TensorFlow 1.15.5, which optimizes the pipeline of an iterator of its own only."""
    own = [0, 7, 10, 6, 9, 2, 4, 11, 1, 3, 8, 5]
    reinitialized = [2, 11, 4, 10, 3, 1, 0, 6, 8, 9, 5, 7]
    for wanted in (own, reinitialized):
        with sg.Graph().as_default():
            sg.set_random_seed(6)
            dataset = Dataset.range(12).shuffle(16).repeat().batch(12)
            if wanted is own:
                iterator = dataset.make_initializable_iterator()
                begin = iterator.initializer
            else:
                iterator = sg.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
                begin = iterator.make_initializer(dataset)
            following = iterator.get_next()
            with sg.Session() as sess:
                for _ in range(2):
                    sess.run(begin)
                    assert sess.run(following).tolist() == wanted


def test_shuffle_and_repeat_has_the_order_of_tensorflow():
    with sg.Graph().as_default():
        sg.set_random_seed(6)
        both = sg.data.experimental.shuffle_and_repeat(16)
        following = Dataset.range(12).apply(both).batch(12).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert sess.run(following).tolist() == [5, 1, 4, 8, 9, 6, 2, 3, 0, 7, 11, 10]


class TestPhrasesOfTensorFlow:
    """Programs and their tests look for them. A long line is broken, which does not count here."""

    @staticmethod
    def told(dataset):
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
            sess.run(element)
        return " ".join(str(caught.value).split())

    def test_elements_of_unlike_shapes(self):
        told = self.told(Dataset.range(4).map(lambda i: (i, sg.zeros([i // 2 + 3]))).batch(4))
        text = "Cannot batch tensors with different shapes in component 1. First element had shape [3] and "
        assert text + "element 2 had shape [4]." in told

    @pytest.mark.parametrize(
        ("item", "types", "text"),
        [
            ("no", sg.int64, "The expected type was int64, but the yielded element was 'no'."),
            ([1, 2], sg.int64, "an element of shape (2,) where an element of shape () was expected."),
            (
                (1, 2, 3),
                (sg.int64, sg.float32),
                "The expected structure was (tf.int64, tf.float32), but the ",
            ),
        ],
    )
    def test_elements_of_a_generator(self, item, types, text):
        shapes = [] if types is sg.int64 else None
        told = self.told(Dataset.from_generator(lambda: iter([item]), types, shapes))
        assert "`generator` yielded an element" in told and text in told


def test_single_strings_are_batched_as_padded_ones():
    """TensorFlow 1.15.5 gives these batches."""
    dataset = Dataset.from_tensor_slices((np.arange(3), ["a", "bc", "d"]))
    padded = dataset.padded_batch(2, ([], []), (np.int64(0), "p"))
    numbers, words = padded.make_one_shot_iterator().get_next()
    with sg.Session() as sess:
        first, last = sess.run([numbers, words]), sess.run([numbers, words])
    assert [each.tolist() for each in first] == [[0, 1], [b"a", b"bc"]]
    assert [each.tolist() for each in last] == [[2], [b"d"]]
