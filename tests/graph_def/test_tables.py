"""Lookup tables in GraphDefs and SavedModels are TensorFlow's nodes, and are read again.

TensorFlow 1.15.5 loads what these tests write, and gives the same numbers.
"""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compat import tf1 as tf

WORDS = ["a", "z", "q"]
FOUND = {  # recorded from TensorFlow 1.15.5
    "listed": [0, -1, -1],
    "of_lines": [-1, 2, -1],
    "mapped": [0, 3, 0],
    "chosen": [-1, 2, -1],
    "entries": 3,
    "weights": [0.0, 0.0, 1.5],
}


def build(folder):
    (folder / "words.txt").write_text("x\ny\nz\n")
    keys = tf.placeholder(tf.string, [None], name="keys")
    listed = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b", "c"]))
    lines = tf.contrib.lookup.index_table_from_file(str(folder / "words.txt"))
    pairs = tf.contrib.lookup.KeyValueTensorInitializer(["q", "x"], [1.5, 2.5])
    weights = tf.contrib.lookup.HashTable(pairs, 0.0)
    made = {
        "listed": listed.lookup(keys),
        "of_lines": lines.lookup(keys),
        "mapped": tf.map_fn(lambda word: lines.lookup(word) + 1, keys, dtype=tf.int64),
        "chosen": tf.cond(tf.size(keys) > 1, lambda: lines.lookup(keys), lambda: listed.lookup(keys)),
        "entries": lines.size(),
        "weights": weights.lookup(keys),
    }
    return [tf.identity(tensor, name=name) for name, tensor in made.items()]


def found(session):
    return dict(zip(FOUND, session.run([f"{name}:0" for name in FOUND], {"keys:0": WORDS}), strict=True))


def check(session):
    for name, value in found(session).items():
        np.testing.assert_array_equal(value, FOUND[name], err_msg=name)


def test_a_saved_model_brings_its_tables(tmp_path):
    folder = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        build(tmp_path)
        session.run(tf.tables_initializer())
        check(session)
        builder = tf.saved_model.builder.SavedModelBuilder(str(folder))
        assets = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
        builder.add_meta_graph_and_variables(
            session, ["serve"], main_op=tf.tables_initializer(), assets_collection=assets
        )
        assert builder.save() == str(folder / "saved_model.pb").encode()  # bytes, as TensorFlow has it
    (tmp_path / "words.txt").unlink()  # the model has a copy
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(folder))
        check(session)
    assert not meta.HasField("saver_def")  # TensorFlow would look for the nodes of a saver


def test_a_meta_graph_brings_its_tables(tmp_path):
    with tf.Graph().as_default():
        build(tmp_path)
        tf.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            found(session)
        session.run(tf.tables_initializer())
        check(session)
        types = {op.type for op in graph.get_operations()}
    assert types >= {"HashTableV2", "LookupTableImportV2", "LookupTableFindV2", "LookupTableSizeV2"}


def test_nodes_of_tables_are_those_of_tensorflow(tmp_path):
    with sg.Graph().as_default() as graph:
        build(tmp_path)
        nodes = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    of_file = next(node for node in nodes.values() if node.op == "InitializeTableFromTextFileV2")
    attrs = {name: of_file.attr[name] for name in ("key_index", "value_index", "vocab_size")}
    assert [attrs["key_index"].i, attrs["value_index"].i, attrs["vocab_size"].i] == [-2, -1, -1]
    assert of_file.attr["delimiter"].s == b"\t"
    handle = nodes[of_file.input[0]]
    assert (handle.op, handle.attr["key_dtype"].type, handle.attr["value_dtype"].type) == (
        "HashTableV2",
        7,
        9,
    )
    resource = 20
    gates = [
        node for node in nodes.values() if node.op in ("Enter", "Switch") and handle.name in node.input[0]
    ]
    assert gates and all(gate.attr["T"].type == resource for gate in gates)
    assert not [node.op for node in nodes.values() if node.op.startswith("sg.")]
    assert graph.version > 0


def test_a_table_that_begins_empty_stays_an_operation_of_our_own():
    with tf.Graph().as_default() as graph:
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        table.lookup(tf.constant(["a"]))
        types = [node.op for node in graph.as_graph_def().node]
    assert "sg.table_handle" in types and "sg.table_find" in types
