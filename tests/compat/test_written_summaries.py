"""Summaries that a run writes itself: what they refuse, and writers that write nothing."""

import pytest

import staticgraph.compat.tf1 as tf

summary = tf.contrib.summary


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_a_writer_without_a_file_is_an_error_that_says_what_to_run(tmp_path):
    with summary.create_file_writer(str(tmp_path)).as_default(), summary.always_record_summaries():
        note = summary.scalar("loss", 1.0, step=1)
    with tf.Session() as sess, pytest.raises(tf.errors.OpError, match="initializer_op"):
        sess.run(note)


def test_no_writer_and_no_folder_write_nothing():
    with summary.create_file_writer(None).as_default(), summary.always_record_summaries():
        note = summary.histogram("weights", [1.0])
    assert note.type == summary.flush().type == "NoOp"
    assert summary.all_summary_ops() == summary.summary_writer_initializer_op() == []


def test_initialize_makes_files_and_writes_the_graph(tmp_path):
    writer = summary.create_file_writer(str(tmp_path), filename_suffix=".mine")
    with tf.Session() as sess, writer.as_default():
        summary.initialize(tf.get_default_graph(), sess)
        sess.run(summary.flush())
    (file,) = tmp_path.iterdir()
    assert file.name.endswith(".mine")
    assert sum(bool(event.graph_def) for event in tf.train.summary_iterator(str(file))) == 1


@pytest.mark.parametrize("value", ["often", [1, 2], None])
def test_a_time_that_is_no_number_is_an_error(tmp_path, value):
    if value is None:
        value = tf.placeholder(tf.float32, [])
    with pytest.raises(ValueError, match="flush_millis"):
        summary.create_file_writer(str(tmp_path), flush_millis=value)


def test_initialize_without_a_session_is_an_error():
    with pytest.raises(ValueError, match="session"):
        summary.initialize()
