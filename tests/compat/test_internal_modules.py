"""`tensorflow.python.*`: the modules that TF1's own tests and programs import, and helpers in them."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat import contrib_modules
from staticgraph.tf1.compat.areas import TREE
from staticgraph.tf1.compat.namespace import MISSING

MODULES = """
    client.session data.ops.dataset_ops data.ops.iterator_ops eager.context framework.common_shapes
    framework.constant_op framework.dtypes framework.errors framework.errors_impl framework.function
    framework.importer framework.ops framework.random_seed framework.smart_cond framework.sparse_tensor
    framework.tensor_shape framework.tensor_util framework.test_util framework.versions layers.base
    layers.convolutional layers.core layers.normalization layers.pooling layers.utils lib.io.tf_record
    ops.array_grad ops.array_ops ops.bitwise_ops ops.candidate_sampling_ops ops.check_ops ops.clip_ops
    ops.control_flow_ops ops.ctc_ops ops.data_flow_ops ops.embedding_ops ops.functional_ops ops.gen_array_ops
    ops.gen_math_ops ops.gen_nn_ops ops.gen_state_ops ops.gradient_checker ops.gradients ops.gradients_impl
    ops.histogram_ops ops.image_ops ops.init_ops ops.io_ops ops.linalg_ops ops.logging_ops ops.lookup_ops
    ops.losses.losses ops.map_fn ops.math_grad ops.math_ops ops.metrics ops.nn ops.nn_grad ops.nn_impl
    ops.nn_ops ops.numerics ops.parsing_ops ops.partitioned_variables ops.random_ops
    ops.resource_variable_ops ops.rnn ops.rnn_cell ops.rnn_cell_impl ops.script_ops ops.session_ops
    ops.sparse_ops ops.special_math_ops ops.spectral_ops ops.state_ops ops.string_ops ops.template
    ops.tensor_array_grad ops.tensor_array_ops ops.variable_scope ops.variables platform.app platform.flags
    platform.gfile platform.googletest platform.test platform.tf_logging summary.summary
    summary.writer.writer tools.freeze_graph
    training.adadelta training.adagrad training.adam training.basic_session_run_hooks
    training.coordinator training.device_setter training.ftrl training.gradient_descent training.input
    training.learning_rate_decay training.momentum training.monitored_session training.moving_averages
    training.optimizer training.queue_runner_impl training.rmsprop training.saver training.server_lib
    training.session_manager training.supervisor training.training training.training_util util.compat
    estimator.canned.metric_keys estimator.canned.prediction_keys estimator.util ops.inplace_ops
    ops.summary_ops_v2 tf2 tpu.tpu_function training.slot_creator util.function_utils
    util.deprecation util.nest util.tf_contextlib util.tf_decorator util.tf_export util.tf_inspect
"""


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_modules():
    assert not [module for module in MODULES.split() if TREE.lookup(f"python.{module}") is MISSING]


def test_modules_of_contrib():
    assert all(TREE.namespace(path) for path in contrib_modules.AREAS)
    modules = {
        "layers.python.layers": "initializers layers optimizers regularizers",
        "seq2seq.python.ops": "attention_wrapper basic_decoder beam_search_decoder decoder helper loss",
    }
    for package, names in modules.items():
        for module in names.split():
            assert TREE.lookup(f"contrib.{package}.{module}") is not MISSING
    wrapper = TREE.lookup("contrib.seq2seq.python.ops.attention_wrapper")
    assert wrapper.BahdanauAttention is tf.contrib.seq2seq.BahdanauAttention


def test_freeze_graph(tmp_path):
    freeze = tf.python.tools.freeze_graph.freeze_graph
    made, prefix, out = (str(tmp_path / name) for name in ("graph.pbtxt", "model", "frozen.pb"))
    variable = tf.Variable([1.0, 2.0], name="v")
    tf.add(tf.placeholder(tf.float32, [], name="x"), variable, name="y")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, prefix)
        tf.train.write_graph(sess.graph_def, str(tmp_path), "graph.pbtxt")
    given = freeze(made, "", False, prefix, "y", "save/restore_all", "save/Const:0", out, True, "")
    read = tf.GraphDef()
    read.ParseFromString((tmp_path / "frozen.pb").read_bytes())
    assert [node.name for node in read.node] == [node.name for node in given.node]
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(read, return_elements=["y:0"], name="")
        with tf.Session() as sess:
            assert sess.run(y, {"x:0": 1.0}).tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="output_node_names is empty"):
        freeze(made, "", False, prefix, "", "", "", out, True, "")


def test_graphs_for_inference_compute_the_same():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    middle = tf.identity(tf.check_numerics(x * 2.0, "NaN"), name="middle")
    tf.sin(middle, name="y")
    tf.exp(middle, name="other")
    given, tools = tf.get_default_graph().as_graph_def(), tf.python.tools
    optimize = tools.optimize_for_inference_lib.optimize_for_inference
    made = optimize(given, ["x"], ["y"], tf.float32.as_datatype_enum)
    assert [node.name for node in made.node] == ["x", "mul/y", "mul", "y"]
    cut = tools.strip_unused_lib.strip_unused(given, ["middle"], ["y"], [tf.float64.as_datatype_enum])
    assert [(node.name, node.op) for node in cut.node] == [("middle", "Placeholder"), ("y", "Sin")]
    assert tf.as_dtype(cut.node[0].attr["dtype"].type) is tf.float64
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(made, return_elements=["y:0"], name="")
        assert sess.run(y, {"x:0": [[1.0, 2.0]]}) == pytest.approx(np.sin([[2.0, 4.0]]), rel=1e-6)
    with pytest.raises(KeyError, match="is not in graph"):
        optimize(given, ["z"], ["y"], 1)


class TestShapes:
    shapes = tf.python.framework.tensor_shape

    def test_shapes_by_their_rank(self):
        made = [self.shapes.scalar(), self.shapes.vector(3), self.shapes.matrix(2, None)]
        assert [shape.as_list() for shape in made] == [[], [3], [2, None]]
        assert self.shapes.unknown_shape(rank=2).as_list() == [None, None]
        assert self.shapes.unknown_shape().ndims is None

    def test_shapes_stay_as_they_are(self):
        shape = tf.TensorShape([1])
        assert self.shapes.as_shape(shape) is shape
        assert self.shapes.as_shape([2]).as_list() == [2]
        assert self.shapes.as_dimension(3).value == 3


class TestConditions:
    smart_cond = staticmethod(tf.python.framework.smart_cond.smart_cond)

    @pytest.mark.parametrize(("known", "result"), [(True, "yes"), (0, "no"), (np.bool_(True), "yes")])
    def test_one_function_is_called_where_the_condition_is_known(self, known, result):
        assert self.smart_cond(known, lambda: "yes", lambda: "no") == result
        assert self.smart_cond(tf.constant(bool(known)), lambda: "yes", lambda: "no") == result

    def test_cond_where_it_is_not(self):
        given = tf.placeholder(tf.bool, [])
        chosen = self.smart_cond(given, lambda: tf.constant(1), lambda: tf.constant(2))
        with tf.Session() as sess:
            assert [sess.run(chosen, {given: value}) for value in (True, False)] == [1, 2]

    def test_what_is_no_condition(self):
        with pytest.raises(TypeError, match=r"3\.5"):
            self.smart_cond(3.5, lambda: 1, lambda: 2)
        with pytest.raises(TypeError, match="two functions"):
            self.smart_cond(True, 1, lambda: 2)

    def test_with_dependencies(self):
        v = tf.Variable(1.0)
        after = tf.python.ops.control_flow_ops.with_dependencies([v.assign(5.0)], tf.constant(2))
        with tf.Session() as sess:
            sess.run(v.initializer)
            assert (sess.run(after), sess.run(v)) == (2, 5.0)


@pytest.mark.parametrize(("zero_debias", "expected"), [(True, [3.0, 3.0]), (False, [1.2, 1.38])])
def test_assign_moving_average(zero_debias, expected):
    v = tf.Variable(1.0, name="v")
    step = tf.python.training.moving_averages.assign_moving_average(v, 3.0, 0.9, zero_debias)
    names = ["v", "v/biased", "v/local_step"] if zero_debias else ["v"]
    assert [variable.op.name for variable in tf.global_variables()] == names
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert [sess.run(step), sess.run(step)] == pytest.approx(expected, rel=1e-5)


def test_decorators_leave_functions_as_they_are():
    util = tf.python.util

    @util.tf_export.tf_export("nothing", v1=[])
    @util.deprecation.deprecated(None, "Use another.")
    def function(x):
        return x

    assert function(3) == 3
    assert util.tf_decorator.unwrap(util.tf_decorator.make_decorator(function, lambda x: -x))[1] is function


def test_whole_files(tmp_path):
    file_io = tf.python.lib.io.file_io
    file_io.write_string_to_file(tmp_path / "a.txt", "grün")
    assert file_io.read_file_to_string(tmp_path / "a.txt") == "grün"
    assert file_io.read_file_to_string(tmp_path / "a.txt", binary_mode=True) == "grün".encode()


class TestGradientChecker:
    def test_complex_numbers_count_twice(self):
        x = tf.placeholder(tf.complex64, [1])
        with tf.Session():
            found = tf.test.compute_gradient(x, [1], x * x, [1], np.array([1 + 2j], np.complex64), 1e-2)
        for matrix in found:
            assert matrix == pytest.approx(np.array([[2, 4], [-4, 2]]), abs=1e-2)

    def test_lists_shapes_and_feeds(self):
        a, b, c = (tf.placeholder(tf.float64, [2]) for _ in range(3))
        feeds = {c: [2.0, 3.0], a: [1.0, 1.0], b: [1.0, 1.0]}
        with tf.Session():
            pairs = tf.test.compute_gradient([a, b], [[2], [2]], a * b * c, [2], extra_feed_dict=feeds)
        assert [matrix.shape for pair in pairs for matrix in pair] == [(2, 2)] * 4
        assert pairs[0][0] == pytest.approx(np.diag([2.0, 3.0]))

    def test_a_wrong_gradient_is_seen(self):
        @tf.custom_gradient
        def wrong(v):
            return v * 3.0, lambda dy: dy * 2.0

        x = tf.placeholder(tf.float64, [2])
        with tf.Session():
            assert tf.test.compute_gradient_error(x, [2], x * 3.0, [2]) < 1e-6
            assert tf.test.compute_gradient_error(x, [2], wrong(x), [2]) == pytest.approx(1.0)

    def test_nothing_has_no_error(self):
        x = tf.placeholder(tf.float32, [0])
        with tf.Session():
            assert tf.test.compute_gradient_error(x, [0], x * 2.0, [0]) == 0.0

    def test_a_value_of_another_shape(self):
        x = tf.placeholder(tf.float32, [2])
        with tf.Session(), pytest.raises(ValueError, match="x_shape says"):
            tf.test.compute_gradient(x, [2], x, [2], np.zeros(3))


def test_the_digits_network_learns():
    tf.set_random_seed(1)
    mnist = tf.examples.tutorials.mnist.mnist
    images, labels = np.eye(4, mnist.IMAGE_PIXELS, dtype=np.float32), np.arange(4)
    logits = mnist.inference(tf.constant(images), 16, 8)
    loss = mnist.loss(logits, tf.constant(labels))
    step = mnist.training(loss, 0.5)
    right = mnist.evaluation(logits, tf.constant(labels))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(200):
            sess.run(step)
        assert sess.run([loss, right, tf.train.get_global_step()])[1:] == [4, 200]


def test_embeddings_for_the_projector(tmp_path):
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words", "words.tsv"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text.splitlines() == [
        "embeddings {",
        '  tensor_name: "words"',
        '  metadata_path: "words.tsv"',
        "  sprite {",
        "    single_image_dim: 28",
        "    single_image_dim: 28",
        "  }",
        "}",
    ]


def test_an_input_function_shuffles_unless_told_otherwise():
    numbers = tf.contrib.learn.io.numpy_input_fn({"x": np.arange(3)}, batch_size=3, shuffle=False)
    assert callable(numbers)
    assert callable(tf.contrib.learn.io.numpy_input_fn({"x": np.arange(3)}))


def test_a_benchmark_reports(capsys):
    class Bench(tf.test.Benchmark):
        """A benchmark."""

    with tf.Session() as sess:
        result = Bench().run_op_benchmark(sess, tf.constant(1.0), min_iters=3, name="one")
    assert (result["iters"], result["name"]) == (3, "one")
    assert capsys.readouterr().out.startswith("one iters=3 wall_time=")


def test_switch_and_merge_choose_a_branch_as_tensorflow_does():
    """TensorFlow 1.15.5 gives these numbers."""
    from staticgraph.tf1.compat.building.switches import merge, switch

    assert tf.python.ops.control_flow_ops.merge is merge
    with tf.Graph().as_default():
        x, number = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [])
        chosen = merge([switch(x, tf.equal(number, case))[1] * (case + 1) for case in range(3)])
        [slope] = tf.gradients(chosen[0], x)
        before, after = switch(x, number > 0)
        made, index = merge([before * 2, after + 1])
        assert made.shape.as_list() == [None, 3] and chosen._fields == ("output", "value_index")
        ones = np.ones([1, 3], np.float32)
        with tf.Session() as session:
            for case in range(3):
                found = session.run([*chosen, slope, made, index], {x: ones, number: case})
                assert [each.ravel()[0] for each in found] == [case + 1, case, case + 1, 2, int(case > 0)]
    with pytest.raises(TypeError, match="float32, not bool"):
        switch(ones, tf.placeholder(tf.float32, []))
    with pytest.raises(ValueError, match="none of them may be None"):
        merge([None])


def test_matrices_of_derivatives_are_those_of_tensorflow():
    """TensorFlow 1.15.5 gives these numbers."""
    gradients = tf.python.ops.parallel_for.gradients
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        weights = tf.constant(np.arange(6.0).reshape(3, 2) / 10, tf.float32)
        apart, y = tf.constant(1.0), tf.tanh(tf.matmul(x, weights))
        of_x, of_nothing = gradients.jacobian(y, [x, apart])
        of_examples = gradients.batch_jacobian(y, x)
        assert of_nothing is None and of_x.shape.as_list() == [None, 2, None, 3]
        assert gradients.batch_jacobian(y, tf.zeros([5, 2])) is None
        with tf.Session() as session:
            whole, parts = session.run([of_x, of_examples], {x: [[0.1, 0.2, 0.3], [1, 0, -1]]})
    recorded = [
        [[0.0, 0.1950, 0.3899], [0.0953, 0.2859, 0.4766]],
        [[0.0, 0.1711, 0.3423], [0.0856, 0.2567, 0.4278]],
    ]
    np.testing.assert_allclose(parts, recorded, atol=6e-5)
    for at, other in ((0, 1), (1, 0)):
        np.testing.assert_allclose(whole[at, :, at], recorded[at], atol=6e-5)
        np.testing.assert_array_equal(whole[at, :, other], 0)


def test_a_program_without_tpus_has_no_shards():
    from_contrib = TREE.lookup("contrib.tpu.python.tpu.tpu_function.get_tpu_context")
    assert from_contrib().number_of_shards is None
    assert not TREE.lookup("python.tf2.enabled")()


def test_variables_of_bfloat16_are_kept_as_float32():
    with tf.contrib.tpu.bfloat16_scope():
        narrow = tf.get_variable("narrow", [2], tf.bfloat16)
        wide = tf.get_variable("wide", [2])
    assert (narrow.dtype, wide.dtype) == (tf.bfloat16, tf.float32)
    assert [variable.dtype for variable in tf.global_variables()] == [tf.float32] * 2


def test_queue_runners_of_slim_run_for_as_long_as_the_context():
    element = tf.train.input_producer([1, 2], num_epochs=1, shuffle=False).dequeue()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with tf.contrib.slim.queues.QueueRunners(sess):
            assert [sess.run(element), sess.run(element)] == [1, 2]


def test_rows_in_place_refuse_scalars_and_matrices_of_numbers():
    from_ops = TREE.lookup("python.ops.inplace_ops.inplace_update")
    for x, i in [(1.0, 0), ([1.0], [[0]])]:
        with pytest.raises(ValueError, match="rows"):
            from_ops(x, i, 1.0)


def test_what_copies_of_cells_and_of_keras_take_from_inside():
    from staticgraph.tf1.drop_in.finder import standing_in

    with standing_in():
        from tensorflow.contrib.compiler import jit
        from tensorflow.python.framework import op_def_registry
    assert not hasattr(op_def_registry, "get_registered_ops")
    with jit.experimental_jit_scope(lambda op: True, separate_compiled_gradients=True):
        made = tf.zeros([2, 3])
    assert made.shape._dims == [2, 3] and tf.TensorShape(None)._dims is None


def test_a_product_takes_none_as_keras_gives_it(sess):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for given in (x, x[None]):
        y = np.swapaxes(given, -1, -2)
        made = tf.matmul(given, y, adjoint_a=None, adjoint_b=None), tf.matmul(given, given, None, True)
        for each in sess.run(made):
            np.testing.assert_array_equal(each, given @ y)
