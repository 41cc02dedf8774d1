"""Summaries beside a training step: encoded after it, from what it gave."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg

TARGETS = np.array([1.0, 2.0], np.float32)


def model() -> tuple[sg.Tensor, sg.Variable, sg.Operation]:
    """A loss, a variable, and a step that trains it."""
    w = sg.Variable(np.zeros(2, np.float32), name="w")
    loss = sg.reduce_sum(sg.square(w - TARGETS))
    return loss, w, sg.train.GradientDescentOptimizer(0.25).minimize(loss)


def numbers(data: bytes) -> dict[str, float]:
    return {value.tag: value.simple_value for value in sg.summary.Summary.FromString(data).value}


def test_summaries_do_not_split_the_step(sess, compiled):
    loss, w, step = model()
    sg.summary.scalar("loss", loss)
    sg.summary.histogram("w", w)
    sg.summary.image("w", sg.reshape(w, [1, 1, 2, 1]))
    merged = sg.summary.merge_all()
    sess.run(w.initializer)
    compiled.clear()
    losses = [numbers(sess.run([merged, step])[0])["loss"] for _ in range(3)]
    assert losses == [5.0, 1.25, 0.3125]
    assert len(compiled) == 1


def test_a_summary_alone_computes_only_what_it_shows(sess, compiled):
    x = sg.placeholder(sg.float32, [])
    shown, _ = sg.summary.scalar("x", x + 1), sg.summary.scalar("y", sg.placeholder(sg.float32, []))
    assert numbers(sess.run(shown, {x: 2.0})) == {"x": 3.0}


def test_a_summary_that_fails_leaves_the_variables(sess):
    loss, w, step = model()
    note = sg.summary.histogram("broken", sg.log(loss - 10.0))
    sess.run(w.initializer)
    with pytest.raises(sg.errors.InvalidArgumentError, match="NaN in the summary histogram broken"):
        sess.run([step, note])
    np.testing.assert_array_equal(sess.run(w), [0, 0])


def test_a_summary_in_a_file_is_what_was_fetched(sess, tmp_path):
    loss, w, step = model()
    sg.summary.scalar("loss", loss)
    merged = sg.summary.merge_all()
    sess.run(w.initializer)
    with sg.summary.FileWriter(tmp_path, sess.graph) as writer:
        for at in range(3):
            writer.add_summary(sess.run([merged, step])[0], at)
    [path] = tmp_path.iterdir()
    events = list(sg.summary.summary_iterator(path))
    found = [(event.step, event.summary.value[0].simple_value) for event in events if event.summary.value]
    assert found == [(0, 5.0), (1, 1.25), (2, 0.3125)]
    graph = sg.messages.GraphDef.FromString(next(e.graph_def for e in events if e.graph_def))
    assert {"loss/tags", "Merge/MergeSummary"} <= {node.name for node in graph.node}


def test_the_old_description_of_a_tensor_summary():
    node = sg.messages.NodeDef(name="t", op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "a hint"}'
    assert sg.summary.get_summary_description(node).type_hint == "a hint"
    with pytest.raises(ValueError, match="t is a Const, not a TensorSummary"):
        sg.summary.get_summary_description(sg.messages.NodeDef(name="t", op="Const"))
