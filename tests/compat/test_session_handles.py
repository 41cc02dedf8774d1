"""Session handles: values that a session keeps from run to run, as TensorFlow's own tests use them."""

import gc

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_a_later_run_reads_what_an_earlier_one_kept(session):
    x = tf.placeholder(tf.float32, [2])
    handle = session.run(tf.get_session_handle(x * 2.0), {x: [1.0, 2.0]})
    holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
    assert session.run(kept + 1.0, {holder: handle.handle}).tolist() == [3.0, 5.0]
    assert handle.eval().tolist() == [2.0, 4.0]


def test_one_reader_reads_any_handle(session):
    x = tf.placeholder(tf.int32, [])
    made = tf.get_session_handle(x + 1)
    total = session.run(made, {x: 0})
    holder, kept = tf.get_session_tensor(total.handle, tf.int32)
    more = tf.get_session_handle(kept * 2)
    for _ in range(4):
        total = session.run(more, {holder: total.handle})
    assert total.eval() == 16


def test_a_handle_is_fetched_with_values_and_fed_as_one(session):
    x = tf.placeholder(tf.float32, [2])
    handle, value = session.run([tf.get_session_handle(x), x + 1.0], {x: [1.0, 2.0]})
    assert value.tolist() == [2.0, 3.0]
    assert session.run(x * 3.0, {x: handle}).tolist() == [3.0, 6.0]


def test_a_value_is_a_copy(session):
    x = tf.placeholder(tf.float32, [1])
    fed = np.float32([1.0])
    handle = session.run(tf.get_session_handle(x), {x: fed})
    fed[0] = 9.0
    assert handle.eval().tolist() == [1.0]


def test_a_deleted_value_is_gone(session):
    made = tf.get_session_handle(tf.constant(1.0))
    first, second = session.run(made), session.run(made)
    first.delete()
    with pytest.raises(TypeError, match="may have already been deleted"):
        first.eval()
    raw = second.get_raw_handle()
    holder, delete = tf.delete_session_tensor(raw)
    session.run(delete, {holder: raw})
    holder, kept = tf.get_session_tensor(raw, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        session.run(kept, {holder: raw})


def test_the_last_reference_frees_the_value_and_a_raw_handle_does_not(session):
    made = tf.get_session_handle(tf.constant(1.0))
    lost, raw = session.run(made), session.run(made).get_raw_handle()
    text = lost.handle
    del lost
    gc.collect()
    holder, kept = tf.get_session_tensor(text, tf.float32)
    assert session.run(kept, {holder: raw}) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        session.run(kept, {holder: text})


def test_sessions_keep_their_own_values(session):
    handle = session.run(tf.get_session_handle(tf.constant(1.0)))
    holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
    with tf.Session() as other, pytest.raises(tf.errors.InvalidArgumentError, match="session store"):
        other.run(kept, {holder: handle.handle})


def test_what_is_refused(session):
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle(1.0)
    handle = session.run(tf.get_session_handle(tf.constant(1.0)))
    with pytest.raises(TypeError, match="must be a string"):
        tf.get_session_tensor(handle, tf.float32)
    holder, kept = tf.get_session_tensor(handle.handle, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="float32, not for int32"):
        session.run(kept, {holder: handle.handle})
