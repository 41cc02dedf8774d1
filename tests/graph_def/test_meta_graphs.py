"""Meta graphs and SavedModels: those of TensorFlow, those written here, and what is refused."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages import SavedModel
from staticgraph.formats.tf.saved_model import loader
from tests.graph_def import models

DATA = Path(__file__).parent / "data" / "tf"


def results() -> list[np.ndarray]:
    with np.load(DATA / "meta" / "model.npz") as found:
        return [found[name] for name in found.files]


def feeds(graph):
    with sg.Graph().as_default():
        told = models.collected(tf)
    return {graph.get_tensor_by_name(name): value for name, value in told.feeds.items()}


@pytest.fixture
def session():
    with sg.Graph().as_default() as graph, sg.Session(graph=graph) as session:
        yield session


@pytest.fixture
def written(tmp_path):
    """A trained net, saved by a Saver: its prefix, what it gives, and what it gives one step later."""
    with sg.Graph().as_default() as graph, sg.Session() as sess:
        told = models.collected(tf)
        sess.run(told.init)
        prefix = sg.train.Saver().save(sess, tmp_path / "model", global_step=1)
        first = sess.run(told.fetches, feeds(graph))
        sess.run(told.step, feeds(graph))
        return prefix, first, sess.run(told.fetches, feeds(graph))


class TestTensorFlowsOwn:
    @pytest.mark.parametrize("scope", [None, "net"])
    def test_training_goes_on(self, session, scope):
        saver = sg.train.import_meta_graph(str(DATA / "meta" / "model-7.meta"), import_scope=scope)
        saver.restore(session, str(DATA / "meta" / "model-7"))
        prefix = f"{scope}/" if scope else ""
        given = {f"{prefix}x:0": next(iter(feeds_by_name().values()))}
        fetches = [f"{prefix}loss:0", f"{prefix}net/w:0"]
        before = session.run(fetches, given)
        session.run(sg.get_collection("train_op")[0], given)
        after = session.run(fetches, given)
        for found, expected in zip(before + after, results(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    def test_its_collections(self, session):
        sg.train.import_meta_graph(str(DATA / "meta" / "model-7.meta"))
        assert [v.name for v in sg.trainable_variables()] == ["net/w:0"]
        assert sg.train.get_global_step().name == "global_step:0"
        assert sg.get_collection("mine") == [session.graph.get_tensor_by_name("y:0")]
        assert sg.get_collection("texts") == [b"hello"]
        assert sg.get_collection("numbers") == [3]
        assert sg.get_collection("weights") == [2.5]
        assert sg.get_collection("summaries")[0].op.type == "ScalarSummary"
        session.run(sg.global_variables_initializer())
        assert session.run("global_step:0") == 0

    def test_a_saved_model(self, session):
        told = sg.saved_model.loader.load(
            session, [sg.saved_model.tag_constants.SERVING], DATA / "saved_model"
        )
        signature = told.signature_def["serving_default"]
        x = sg.saved_model.utils.get_tensor_from_tensor_info(signature.inputs["x"])
        [value] = feeds_by_name().values()
        y = session.run(signature.outputs["y"].name, {x: value})
        loss = np.mean((y - 0.5) ** 2)
        np.testing.assert_allclose(loss, results()[0], rtol=1e-5)

    def test_a_saved_model_with_a_file_and_something_to_run_first(self, session):
        told = sg.saved_model.loader.load(session, ["serve"], DATA / "half_plus_two")
        y = told.signature_def["serving_default"].outputs["y"].name
        np.testing.assert_array_equal(session.run(y, {"x:0": [1.0, 4.0]}), [2.5, 4.0])


class TestAssets:
    def test_those_of_tensorflow_are_found_where_the_model_lies(self, tmp_path):
        shutil.copytree(DATA / "half_plus_two", tmp_path / "model")
        with sg.Graph().as_default() as graph, sg.Session() as sess:
            told = sg.saved_model.loader.load(sess, ["serve"], tmp_path / "model")
            feeds = loader._assets(told, graph, str(tmp_path / "model"), "")
        assert list(feeds.values()) == [str(tmp_path / "model" / "assets" / "words.txt")]
        assert (tmp_path / "model" / "assets" / "words.txt").read_text() == "one two"

    @pytest.mark.parametrize("listed", [True, False])
    def test_no_other_file_is_read(self, session, tmp_path, listed):
        """The name of a file is a constant of the graph, which may name any file of its user's."""
        with sg.Graph().as_default():
            sg.constant(str(tmp_path / "secret"), name="path")
            meta = sg.train.export_meta_graph()
        meta.meta_info_def.tags.append("serve")
        table = meta.graph_def.node.add(name="table", op="HashTableV2")
        init = meta.graph_def.node.add(
            name="init", op="InitializeTableFromTextFileV2", input=["table", "path"]
        )
        for node, numbers in ((table, {}), (init, {"key_index": -2, "value_index": -1, "vocab_size": -1})):
            for name, number in numbers.items():
                node.attr[name].i = number
        init.attr["delimiter"].s = b"\t"
        table.attr["key_dtype"].type, table.attr["value_dtype"].type = 7, 9  # string, int64
        if listed:
            asset = meta.asset_file_def.add(filename="words.txt")
            asset.tensor_info.name = "path:0"
        model = SavedModel(saved_model_schema_version=1)
        model.meta_graphs.add().CopyFrom(meta)
        (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
        if listed:
            sg.saved_model.loader.load(session, ["serve"], tmp_path)
        else:
            with pytest.raises(InvalidFileError, match="reads a file that is none of the assets"):
                sg.saved_model.loader.load(session, ["serve"], tmp_path)


def feeds_by_name():
    with sg.Graph().as_default():
        return models.collected(tf).feeds


def read(folder, step):
    return (folder / f"model-{step}.meta").read_bytes()


class TestOurOwn:
    def test_training_goes_on_in_another_graph(self, session, written):
        prefix, first, second = written
        saver = sg.train.import_meta_graph(f"{prefix}.meta")
        saver.restore(session, prefix)
        given = feeds(session.graph)
        found = session.run(["loss:0", "net/w:0"], given)
        session.run(sg.get_collection("train_op")[0], given)
        found += session.run(["loss:0", "net/w:0"], given)
        for one, other in zip(found, [*first, *second], strict=True):
            np.testing.assert_array_equal(one, other)

    def test_a_saver_with_names_of_its_own(self, session, tmp_path):
        with sg.Graph().as_default(), sg.Session() as sess:
            v = sg.Variable([1.0, 2.0], name="v")
            sg.Variable([3.0], name="left_out")
            sess.run(v.initializer)
            prefix = sg.train.Saver({"other": v}, max_to_keep=3).save(sess, tmp_path / "model")
        saver = sg.train.import_meta_graph(f"{prefix}.meta")
        assert list(saver.variables) == ["other"]
        assert saver.as_saver_def().max_to_keep == 3
        saver.restore(session, prefix)
        np.testing.assert_array_equal(session.run("v:0"), [1.0, 2.0])

    def test_each_checkpoint_has_the_graph_of_its_time(self, session, tmp_path):
        v = sg.Variable(1.0)
        session.run(v.initializer)
        saver = sg.train.Saver()
        sizes = []
        for step in range(4):
            saver.save(session, tmp_path / "model", global_step=step)
            sizes.append(len(sg.messages.MetaGraphDef.FromString(read(tmp_path, step)).graph_def.node))
            if step == 1:
                sg.constant(1.0)
            sg.add_to_collection("steps", step)
        assert sizes[0] == sizes[1] == sizes[2] - 1
        assert read(tmp_path, 3).count(b"steps") == 1

    def test_no_graph_is_written_where_none_is_wanted(self, session, tmp_path):
        v = sg.Variable(1.0)
        session.run(v.initializer)
        sg.train.Saver().save(session, tmp_path / "model", write_meta_graph=False)
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "model.index"]

    def test_old_graphs_go_with_their_checkpoints(self, session, tmp_path):
        v = sg.Variable(1.0)
        session.run(v.initializer)
        saver = sg.train.Saver(max_to_keep=1)
        for step in range(3):
            saver.save(session, tmp_path / "model", global_step=step)
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "model-2.index", "model-2.meta"]

    def test_without_devices_and_defaults(self, session):
        with sg.device("/gpu:0"):
            sg.matmul(sg.ones([2, 2]), sg.ones([2, 2]), name="y")
        made = sg.train.export_meta_graph(clear_devices=True, strip_default_attrs=True)
        assert {node.device for node in made.graph_def.node} == {""}
        [y] = [node for node in made.graph_def.node if node.name == "y"]
        assert sorted(y.attr) == ["T", "_output_shapes"]
        assert made.meta_info_def.stripped_default_attrs

    def test_shapes_of_all_outputs_that_tensorflow_has(self, session):
        sg.nn.fused_batch_norm(sg.ones([1, 2, 2, 3]), sg.ones([3]), sg.zeros([3]), name="norm")
        made = sg.train.export_meta_graph()
        [norm] = [node for node in made.graph_def.node if node.name == "norm"]
        shapes = norm.attr["_output_shapes"].list.shape
        assert [shape.unknown_rank for shape in shapes] == [False, False, False, True, True, True]

    def test_as_text(self, session, tmp_path):
        sg.Variable(2.0, name="v")
        sg.train.export_meta_graph(str(tmp_path / "graph.meta"), as_text=True)
        with sg.Graph().as_default() as again:
            sg.train.import_meta_graph(str(tmp_path / "graph.meta"))
            assert again.has_operation("v")

    def test_a_graph_without_variables_has_no_saver(self, session):
        sg.constant(1.0)
        made = sg.train.export_meta_graph()
        with sg.Graph().as_default():
            assert sg.train.import_meta_graph(made) is None

    def test_what_has_no_message_is_left_out(self, session, caplog):
        sg.add_to_collection("odd", object())
        assert "odd" not in sg.train.export_meta_graph().collection_def
        assert "collection 'odd' is not saved" in caplog.text

    def test_a_collection_of_what_are_no_variables(self, session):
        sg.Variable(1.0, name="v")
        made = sg.train.export_meta_graph()
        told = sg.messages.VariableDef.FromString(made.collection_def["variables"].bytes_list.value[0])
        told.variable_name = "v/read:0"
        made.collection_def["variables"].bytes_list.value[0] = told.SerializeToString()
        with sg.Graph().as_default(), pytest.raises(ValueError, match=r"'v/read:0' with .* is no var"):
            sg.train.import_meta_graph(made)
        made.collection_def["variables"].bytes_list.value[0] = b"\xff"
        with sg.Graph().as_default(), pytest.raises(ValueError, match="cannot be read"):
            sg.train.import_meta_graph(made)

    @pytest.mark.parametrize(
        "change",
        [
            lambda names: names.string_val.__setitem__(0, b"\xff"),
            lambda names: names.CopyFrom(sg.messages.make_tensor_proto([1, 2, 3])),
            lambda names: names.CopyFrom(sg.messages.make_tensor_proto(7, shape=[1 << 27])),
        ],
        ids=["no text", "numbers", "numbers without end"],
    )
    def test_a_saver_whose_names_are_none(self, session, change):
        made = sg.train.Saver([sg.Variable(1.0, name="v")]).export_meta_graph()
        [names] = [node for node in made.graph_def.node if node.name == "save/SaveV2/tensor_names"]
        change(names.attr["value"].tensor)
        with sg.Graph().as_default(), pytest.raises(GraphDefError, match="names that it saves are no text"):
            sg.train.import_meta_graph(made)

    def test_a_file_that_is_not_there(self, session):
        with pytest.raises(OSError, match=r"File nothing.meta does not exist"):
            sg.train.import_meta_graph("nothing.meta")

    def test_a_file_of_another_kind(self, session, tmp_path):
        (tmp_path / "a.meta").write_bytes(b"\xffnot a graph")
        with pytest.raises(InvalidFileError, match="it is no MetaGraphDef"):
            sg.train.import_meta_graph(tmp_path / "a.meta")


class TestSavedModels:
    def build(self, folder, **options):
        with sg.Graph().as_default(), sg.Session() as sess:
            x = sg.placeholder(sg.float32, [None], name="x")
            y = sg.multiply(x, sg.Variable(3.0, name="v"), name="y")
            sess.run(sg.global_variables_initializer())
            sg.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})

    def test_its_files(self, tmp_path):
        self.build(tmp_path / "model")
        found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
        assert found == [
            "model/saved_model.pb",
            "model/variables/variables.data-00000-of-00001",
            "model/variables/variables.index",
        ]
        assert sg.saved_model.contains_saved_model(tmp_path / "model")

    def test_it_is_loaded_below_a_scope(self, session, tmp_path):
        self.build(tmp_path / "model")
        sg.saved_model.loader.load(session, {"serve"}, tmp_path / "model", import_scope="a")
        np.testing.assert_array_equal(session.run("a/y:0", {"a/x:0": [2.0]}), [6.0])

    def test_several_graphs_share_variables(self, tmp_path):
        builder = sg.saved_model.builder.SavedModelBuilder(tmp_path / "model")
        for tag in ("train", "serve"):
            with sg.Graph().as_default(), sg.Session() as sess:
                v = sg.Variable(4.0, name="v")
                sg.multiply(v, 2.0 if tag == "serve" else 1.0, name="y")
                sess.run(v.initializer)
                if tag == "train":
                    builder.add_meta_graph_and_variables(sess, [tag])
                else:
                    builder.add_meta_graph([tag])
        builder.save(as_text=True)
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.saved_model.loader.load(sess, ["serve"], tmp_path / "model")
            assert sess.run("y:0") == 8.0

    def test_the_main_operation_is_run(self, tmp_path):
        with sg.Graph().as_default(), sg.Session() as sess:
            v = sg.Variable(4.0, name="v")
            sess.run(v.initializer)
            builder = sg.saved_model.builder.SavedModelBuilder(tmp_path / "model")
            builder.add_meta_graph_and_variables(sess, ["serve"], main_op=sg.assign(v, 5.0).op)
            builder.save()
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.saved_model.loader.load(sess, ["serve"], tmp_path / "model")
            assert sess.run("v:0") == 5.0

    def test_assets_are_copied(self, tmp_path):
        (tmp_path / "words.txt").write_text("one two")
        with sg.Graph().as_default(), sg.Session() as sess:
            path = sg.constant(str(tmp_path / "words.txt"), name="path")
            builder = sg.saved_model.builder.SavedModelBuilder(tmp_path / "model")
            builder.add_meta_graph_and_variables(sess, ["serve"], assets_collection=[path])
            builder.save()
        assert (tmp_path / "model" / "assets" / "words.txt").read_text() == "one two"

    def test_a_folder_that_is_not_empty(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(AssertionError, match="isn't empty"):
            sg.saved_model.builder.SavedModelBuilder(tmp_path)

    def test_tags_that_no_graph_has(self, session, tmp_path):
        self.build(tmp_path / "model")
        with pytest.raises(RuntimeError, match=r"(?s)tags 'train' could not be found.*have the tags: serve"):
            sg.saved_model.loader.load(session, ["train"], tmp_path / "model")

    def test_a_folder_without_one(self, session, tmp_path):
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            sg.saved_model.loader.load(session, ["serve"], tmp_path)

    def test_damaged_values(self, session, tmp_path):
        self.build(tmp_path / "model")
        data = tmp_path / "model" / "variables" / "variables.data-00000-of-00001"
        changed = bytearray(data.read_bytes())
        changed[0] ^= 1
        data.write_bytes(changed)
        with pytest.raises(InvalidFileError, match="the checksum of 'v' is wrong"):
            sg.saved_model.loader.load(session, ["serve"], tmp_path / "model")

    def test_a_model_that_was_moved(self, session, tmp_path):
        self.build(tmp_path / "model")
        shutil.move(tmp_path / "model", tmp_path / "other")
        sg.saved_model.loader.load(session, ["serve"], tmp_path / "other")
        np.testing.assert_array_equal(session.run("y:0", {"x:0": [1.0]}), [3.0])


def test_a_signature_is_checked():
    with sg.Graph().as_default():
        x, y = sg.placeholder(sg.float32), sg.placeholder(sg.string)
        made = sg.saved_model.signature_def_utils.regression_signature_def(y, x)
        assert sg.saved_model.signature_def_utils.is_valid_signature(made)
        with pytest.raises(ValueError, match="input tensors must be of type string"):
            sg.saved_model.signature_def_utils.regression_signature_def(x, x)
        with pytest.raises(ValueError, match="Prediction inputs cannot be empty"):
            sg.saved_model.signature_def_utils.predict_signature_def({}, {"y": y})


def test_two_variables_of_one_name_are_refused():
    with sg.Graph().as_default():
        sg.Variable(1.0, name="v")
        meta = sg.train.export_meta_graph()
    twice = meta.collection_def["variables"].bytes_list.value
    twice.append(twice[0])
    with sg.Graph().as_default(), pytest.raises(GraphDefError, match="have the same name: v"):
        sg.train.import_meta_graph(meta)


def test_a_variable_begun_from_a_checkpoint_has_the_initializer_that_it_was_made_with():
    """TensorFlow names the assignment of what it read as a tensor; nodes that read files are left out."""
    with sg.Graph().as_default():
        v = sg.Variable([1.0, 2.0], name="v")
        told = v.to_proto()
        told.initializer_name, told.initial_value_name = "Assign_1:0", "checkpoint_initializer_1:0"
        read = sg.Variable.from_proto(told)
        assert read.initializer is v.initializer
        assert read.initial_value is v.initial_value
