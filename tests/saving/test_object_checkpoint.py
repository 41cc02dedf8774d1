"""`tf.train.Checkpoint` and `CheckpointManager`: keys and files of TensorFlow 1.15.5, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.formats.tf.checkpoints.object_graph import OBJECT_GRAPH_KEY, object_graph_of, stored
from staticgraph.formats.tf.messages.object_graph import TrackableObjectGraph
from staticgraph.formats.tf.tensor_bundle import tensors_of, write_bundle
from tests.saving.object_programs import programs

RECORDED = Path(__file__).with_name("objects")
KEYS = json.loads((RECORDED / "keys.json").read_text())
PROGRAMS = programs(tf)


@pytest.fixture(autouse=True)
def empty():
    tf.keras.backend.clear_session()


def started(**objects):
    checkpoint = tf.train.Checkpoint(**objects)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return checkpoint, session


def zeroed(session):
    for variable in tf.global_variables():
        variable.load(np.zeros(variable.shape.as_list(), variable.dtype.as_numpy_dtype), session)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_keys_are_those_of_tensorflow(name, tmp_path):
    checkpoint, session = started(**PROGRAMS[name]())
    with session:
        path = checkpoint.save(tmp_path / "ckpt")
        before = session.run(tf.global_variables())
        zeroed(session)
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        after = session.run(tf.global_variables())
    assert path == tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-1")
    described = object_graph_of(path, tensors_of(path))
    values = [value for node in described.nodes for value in node.attributes]
    assert {value.checkpoint_key: value.full_name for value in values} == KEYS[name]
    assert set(tensors_of(path)) == {OBJECT_GRAPH_KEY, *KEYS[name]}
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_checkpoint_of_tensorflow(tmp_path):
    objects = PROGRAMS["adam"]()
    checkpoint, session = started(**objects)
    path = str(RECORDED / "adam-1")
    with session:
        zeroed(session)
        checkpoint.restore(path).assert_consumed().initialize_or_restore()
        assert session.run([objects["v"], checkpoint.save_counter, "beta1_power:0"]) == [
            pytest.approx([1.0, 2.0]),
            1,
            pytest.approx(0.9),
        ]
        zeroed(session)
        tf.train.Saver([objects["w"]]).restore(session, path)  # by the names of the variables
        assert session.run([objects["v"], objects["w"]])[1].tolist() == [3.0]


def test_values_without_variables_and_variables_without_values(tmp_path):
    checkpoint, session = started(a=tf.Variable(1.0), b=tf.Variable(2.0))
    without_counter = checkpoint.write(tmp_path / "values", session)
    path = checkpoint.save(tmp_path / "both", session)
    c = tf.Variable(3.0)
    other, session = started(a=tf.Variable(4.0), c=c)
    status = other.restore(path).assert_nontrivial_match().expect_partial()
    with pytest.raises(AssertionError, match=r"no value for c/\.ATTRIBUTES"):
        status.assert_existing_objects_matched()
    with session:
        session.run(c.assign(5.0))
        status.run_restore_ops()
        assert session.run([other.a, c]) == [1.0, 5.0]
        status.initialize_or_restore()
        assert session.run([other.a, c]) == [1.0, 3.0]
    with pytest.raises(AssertionError, match=r"no object took: b/\.ATTRIBUTES"):
        tf.train.Checkpoint(a=tf.Variable(0.0)).restore(path).assert_consumed()
    with pytest.raises(AssertionError, match="nothing but the root"):
        tf.train.Checkpoint(z=c).restore(without_counter).assert_nontrivial_match()


def test_objects_made_after_restore(tmp_path):
    dense = tf.layers.Dense(2)
    dense(tf.ones([1, 3]))
    checkpoint, session = started(net=dense)
    path = checkpoint.save(tmp_path / "net", session)
    kernel = session.run(dense.kernel)
    tf.reset_default_graph()
    net = tf.layers.Dense(2)
    status = tf.train.Checkpoint(net=net).restore(path)
    net(tf.ones([1, 3]))
    with tf.Session() as session:
        status.assert_existing_objects_matched().initialize_or_restore(session)
        assert np.array_equal(session.run(net.kernel), kernel)


def test_a_checkpoint_of_a_saver(tmp_path):
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    checkpoint, session = started(v=v)
    for options in ({}, {"write_version": tf.train.SaverDef.V2}):
        path = tf.train.Saver([v], **options).save(session, tmp_path / "model")
        session.run(v.assign([0.0, 0.0]))
        checkpoint.restore(path).assert_consumed().initialize_or_restore(session)
        assert session.run(v).tolist() == [1.0, 2.0]
    w = tf.train.Checkpoint(w=tf.get_variable("w", initializer=1.0))
    with pytest.raises(AssertionError, match="no value named w"):
        w.restore(path).assert_consumed()


def test_no_checkpoint():
    checkpoint, session = started(v=tf.Variable(1.0))
    status = checkpoint.restore(None)
    zeroed(session)
    status.initialize_or_restore(session)
    assert session.run(checkpoint.v) == 1.0
    with pytest.raises(AssertionError, match="no checkpoint was given"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="no checkpoint was given"):
        status.run_restore_ops(session)
    with pytest.raises(tf.errors.NotFoundError, match="there is no checkpoint /no/such"):
        checkpoint.restore("/no/such")


def test_what_cannot_be_saved():
    with pytest.raises(ValueError, match=r"Checkpoint\(rate=...\) was expecting a trackable object"):
        tf.train.Checkpoint(rate=0.5)


@pytest.mark.parametrize("change", ["cut", "number", "empty"])
def test_a_damaged_description(change, tmp_path):
    checkpoint, session = started(v=tf.Variable(1.0))
    path = checkpoint.write(tmp_path / "model", session)
    tensors = dict(tensors_of(path))
    described = object_graph_of(path, tensors)
    if change == "number":
        described.nodes[0].children[0].node_id = 1 << 30
    dtype, array = stored(TrackableObjectGraph() if change == "empty" else described)
    if change == "cut":
        array = np.array(array.item()[:-3], object)
    write_bundle(path, {**tensors, OBJECT_GRAPH_KEY: (dtype, array)})
    with pytest.raises(InvalidFileError, match="the objects that it describes cannot be read"):
        checkpoint.restore(path)


def test_a_manager_keeps_the_last(tmp_path):
    checkpoint, session = started(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), 2)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    with session.as_default():
        paths = [manager.save() for _ in range(3)]
    assert paths == [str(tmp_path / f"ckpt-{i}") for i in (1, 2, 3)]
    assert manager.checkpoints == paths[1:]
    assert sorted(path.name for path in tmp_path.glob("*.index")) == ["ckpt-2.index", "ckpt-3.index"]
    again = tf.train.CheckpointManager(checkpoint, str(tmp_path), 1)
    assert again.latest_checkpoint == paths[2] == tf.train.latest_checkpoint(tmp_path)
    with session.as_default():
        assert again.save(checkpoint_number=7) == str(tmp_path / "ckpt-7")
        assert session.run(checkpoint.save_counter) == 4
    assert again.checkpoints == [str(tmp_path / "ckpt-7")]
    assert [path.name for path in tmp_path.glob("*.index")] == ["ckpt-7.index"]
    with pytest.raises(ValueError, match="max_to_keep=0"):
        tf.train.CheckpointManager(checkpoint, str(tmp_path), 0)


def test_a_manager_keeps_one_per_hours(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    checkpoint, session = started(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), 1, keep_checkpoint_every_n_hours=1)
    with session:
        for _ in range(5):
            now[0] += 1900.0
            manager.save()
    assert sorted(path.name for path in tmp_path.glob("*.index")) == [f"ckpt-{i}.index" for i in (2, 4, 5)]
    assert manager.checkpoints == [str(tmp_path / "ckpt-5")]


def test_weights_of_a_model(tmp_path):
    model = PROGRAMS["sequential"]()["model"]
    path = str(tmp_path / "weights")
    model.save_weights(path, save_format="tf")
    wanted = model.get_weights()
    assert "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in tensors_of(path)
    model.set_weights([np.zeros_like(each) for each in wanted])
    model.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), wanted, strict=True))
    with pytest.raises(AssertionError, match="nothing but the root"):
        PROGRAMS["subclass"]()["net"].load_weights(path)
    named = tf.train.Saver(model.weights, write_version=tf.train.SaverDef.V2)
    by_name = named.save(tf.keras.backend.get_session(), path)
    with pytest.raises(ValueError, match="was written by a Saver, which knows no model"):
        model.load_weights(by_name)


def test_a_class_of_the_program(tmp_path):
    class State(tf.contrib.checkpoint.Checkpointable):
        pass

    state = State()
    state.value, state.note = tf.Variable(1.0), "of no variable"
    checkpoint, session = started(state=state)
    path = checkpoint.save(tmp_path / "ckpt", session)
    assert "state/value/.ATTRIBUTES/VARIABLE_VALUE" in tensors_of(path)
