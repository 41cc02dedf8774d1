"""Queues between threads: waiting, closing, giving up."""

import signal
import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.tf.messages import RunOptions

SOON = RunOptions(timeout_in_ms=20)


@pytest.fixture(autouse=True)
def graph():
    with sg.Graph().as_default():
        yield


def background(function, *arguments):
    """A thread that calls a function, and the list that what it returns or raises goes to."""
    outcome = []

    def call():
        try:
            outcome.append(function(*arguments))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, outcome


def finished(thread, outcome):
    thread.join(30)
    assert not thread.is_alive()
    return outcome[0]


def queue_of(*values, capacity=10):
    queue = sg.FIFOQueue(capacity, sg.int32, [[]])
    return queue, queue.enqueue_many([list(values)])


def test_a_run_that_waits_lets_another_thread_bring_what_it_waits_for():
    queue, fill = queue_of(4, 5)
    value = queue.dequeue() * 2
    with sg.Session() as sess:
        waiting = background(sess.run, value)
        sess.run(fill)
        assert finished(*waiting) == 8


def test_a_batch_may_be_larger_than_the_queue():
    queue, fill = queue_of(1, 2, 3, capacity=2)
    batch = queue.dequeue_many(9)
    with sg.Session() as sess:
        waiting = background(sess.run, batch)
        for _ in range(3):
            sess.run(fill)
        assert finished(*waiting).tolist() == [1, 2, 3] * 3


def test_an_enqueue_waits_for_room():
    queue, fill = queue_of(1, 2, 3, capacity=1)
    value = queue.dequeue()
    with sg.Session() as sess:
        waiting = background(sess.run, fill)
        assert [int(sess.run(value)) for _ in range(3)] == [1, 2, 3]
        assert finished(*waiting) is None


def test_a_run_that_waits_for_room_after_a_step_does_not_hold_up_others():
    queue = sg.FIFOQueue(1, sg.int32, [[]])
    count = sg.Variable(0)
    fill = queue.enqueue([sg.assign_add(count, 1)])
    value = queue.dequeue()
    with sg.Session() as sess:
        sess.run(count.initializer)
        sess.run(fill)
        waiting = background(sess.run, fill)
        assert [int(sess.run(value)) for _ in range(2)] == [1, 2]
        assert finished(*waiting) is None
        assert sess.run(count) == 2


def test_many_threads_lose_nothing():
    queue = sg.FIFOQueue(3, sg.int32, [[]])
    number = sg.placeholder(sg.int32, [])
    put, value = queue.enqueue([number]), queue.dequeue()

    def produce(sess, start):
        for i in range(25):
            sess.run(put, {number: start + i})

    with sg.Session() as sess:
        threads = [background(produce, sess, 100 * t) for t in range(4)]
        taken = [int(sess.run(value)) for _ in range(100)]
        for thread in threads:
            assert finished(*thread) is None
    assert sorted(taken) == sorted(100 * t + i for t in range(4) for i in range(25))


def test_waiting_ends_with_the_time_of_the_run():
    queue, fill = queue_of(1, 2)
    with sg.Session() as sess:
        with pytest.raises(sg.errors.DeadlineExceededError, match="time that the run was given is over"):
            sess.run(queue.dequeue(), options=SOON)
        sess.run(fill)
        with pytest.raises(sg.errors.DeadlineExceededError):
            sess.run(queue.dequeue_many(3), options=SOON)
        assert sess.run(queue.dequeue_many(2)).tolist() == [1, 2]  # nothing was lost


def test_closing_the_session_ends_waiting():
    queue, _ = queue_of(1)
    begun = threading.Event()
    with sg.control_dependencies([sg.py_func(begun.set, [], [])]):
        value = queue.dequeue()
    sess = sg.Session()
    waiting = background(sess.run, value)
    begun.wait(30)
    sess.close()
    error = finished(*waiting)
    assert isinstance(error, sg.errors.CancelledError | sg.errors.FailedPreconditionError)


def test_closing_the_queue_ends_waiting_with_what_is_left():
    queue, fill = queue_of(1, 2)
    some, all_of = queue.dequeue_up_to(5), queue.dequeue_many(5)
    with sg.Session() as sess:
        waiting = background(sess.run, some)
        sess.run(fill)
        sess.run(queue.close())
        assert finished(*waiting).tolist() == [1, 2]
        with pytest.raises(sg.errors.OutOfRangeError, match="requested 5, current size 0"):
            sess.run(all_of)


def test_cancelling_ends_waiting_for_room():
    queue, fill = queue_of(1, 2, 3, capacity=1)
    size, cancel = queue.size(), queue.close(cancel_pending_enqueues=True)
    with sg.Session() as sess:
        waiting = background(sess.run, fill)
        while sess.run(size) < 1:
            pass
        sess.run(cancel)
        assert isinstance(finished(*waiting), sg.errors.CancelledError)


def test_sessions_have_contents_of_their_own():
    queue, fill = queue_of(1, 2)
    with sg.Session() as one, sg.Session() as two:
        one.run(fill)
        assert (one.run(queue.size()), two.run(queue.size())) == (2, 0)
        one.run(queue.close())
        two.run(fill)


def test_what_is_fed_may_change_after_the_run():
    queue = sg.FIFOQueue(4, sg.float32, [[2]])
    x = sg.placeholder(sg.float32, [2])
    fill, value = queue.enqueue([x]), queue.dequeue()
    given = np.ones(2, np.float32)
    with sg.Session() as sess:
        sess.run(fill, {x: given})
        given[:] = 7
        sess.run(fill, {x: given})
        assert sess.run(value).tolist() == [1, 1]


def test_an_error_names_the_line():
    queue, _ = queue_of(1)
    value = queue.dequeue()  # this line
    with sg.Session() as sess:
        sess.run(queue.close())
        with pytest.raises(sg.errors.OutOfRangeError) as caught:
            sess.run(value)
    assert "value = queue.dequeue()  # this line" in str(caught.value)


def test_random_order_keeps_some_back():
    queue = sg.RandomShuffleQueue(20, 4, sg.int32, [[]], seed=1)
    fill = queue.enqueue_many([list(range(10))])
    with sg.Session() as sess:
        sess.run(fill)
        got = sess.run(queue.dequeue_many(6)).tolist()
        with pytest.raises(sg.errors.DeadlineExceededError):
            sess.run(queue.dequeue(), options=SOON)
        sess.run(queue.close())
        got += sess.run(queue.dequeue_many(4)).tolist()
    assert sorted(got) == list(range(10)) and got != list(range(10))


def test_training_from_files_through_queues(tmp_path):
    draw = np.random.default_rng(0)
    for number in range(3):
        rows = draw.normal(size=(40, 2)).astype(np.float32)
        with sg.io.TFRecordWriter(tmp_path / f"part{number}") as writer:
            for row in rows:
                writer.write(np.append(row, 2 * row[0] - row[1]).astype(np.float32).tobytes())
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    names = sg.train.string_input_producer(paths, num_epochs=4, seed=1)
    _, record = sg.TFRecordReader().read(names)
    row = sg.reshape(sg.io.decode_raw(record, sg.float32), [3])
    x, y = sg.train.shuffle_batch([row[:2], row[2]], 12, capacity=60, min_after_dequeue=20, num_threads=2)
    w = sg.Variable(sg.zeros([2, 1]))
    loss = sg.reduce_mean(sg.square(sg.squeeze(sg.matmul(x, w), 1) - y))
    step = sg.train.GradientDescentOptimizer(0.2).minimize(loss)
    steps = 0
    with sg.Session() as sess:
        sess.run([sg.global_variables_initializer(), sg.local_variables_initializer()])
        coord = sg.train.Coordinator()
        threads = sg.train.start_queue_runners(sess, coord)
        with pytest.raises(sg.errors.OutOfRangeError):
            while True:
                sess.run(step)
                steps += 1
        coord.request_stop()
        coord.join(threads)
        assert steps == 3 * 40 * 4 // 12
        np.testing.assert_allclose(sess.run(w).ravel(), [2, -1], atol=0.05)


def test_an_error_in_a_queue_runner_reaches_the_main_thread(tmp_path):
    path = tmp_path / "damaged"
    with sg.io.TFRecordWriter(path) as writer:
        writer.write(b"record")
    path.write_bytes(path.read_bytes()[:-2])
    names = sg.train.string_input_producer([str(path)], num_epochs=1)
    _, record = sg.TFRecordReader().read(names)
    batch = sg.train.batch([record], 2)
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        coord = sg.train.Coordinator()
        threads = sg.train.start_queue_runners(sess, coord)
        with pytest.raises((sg.errors.OutOfRangeError, sg.errors.CancelledError)):
            sess.run(batch)
        with pytest.raises(sg.errors.DataLossError, match="damaged"):
            coord.join(threads)


def test_an_interrupt_ends_waiting():
    queue, fill = queue_of(1)
    begun = threading.Event()
    with sg.control_dependencies([sg.py_func(begun.set, [], [])]):
        value = queue.dequeue()

    def interrupt():
        begun.wait(30)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with sg.Session() as sess:
        thread = background(interrupt)
        with pytest.raises(KeyboardInterrupt):
            sess.run(value)
        assert finished(*thread) is None
        sess.run(fill)
        assert sess.run(value) == 1
