"""Cells of `tf.contrib.rnn` that draw more than their kernels. The numbers are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

rnn_cell = tf.contrib.rnn.python.ops.rnn_cell


def test_phased_lstm_opens_and_closes_as_in_tensorflow():
    tf.set_random_seed(5)
    x = tf.constant(np.linspace(-1, 1, 24).reshape(3, 4, 2).astype("float32"))
    times = tf.cumsum(tf.ones_like(x[:, :, :1]) * 0.37, 1)
    cell = tf.contrib.rnn.PhasedLSTMCell(3, period_init_max=3.0)
    outputs, _ = tf.nn.dynamic_rnn(cell, (times, x), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(outputs).ravel()[:6]
        period, phase = session.run(tf.global_variables()[6:8])
    np.testing.assert_allclose(period, [2.8992095, 2.6020262, 1.8340262], rtol=1e-6)
    np.testing.assert_allclose(phase, [1.8381104, 0.49738368, 0.91183305], rtol=1e-6)
    wanted = [-8.6022425e-05, 1.4240373e-04, 1.5213950e-04, -1.7961775e-04, 1.7967187e-02, 3.3042318e-04]
    np.testing.assert_allclose(found, wanted, rtol=2e-5)


@pytest.mark.parametrize(
    "options, wanted",
    [
        ({"number_of_groups": 2}, [-0.131019, 0.010547, -0.017564, -0.115852, -0.222684, 0.015512]),
        (
            {"num_proj": 2, "number_of_groups": 2},
            [-0.044665, 0.01613, -0.1245, 0.026517, -0.211783, 0.031482],
        ),
        (
            {"initializer": tf.random_uniform_initializer(-1, 1), "activation": tf.nn.relu},
            [0.0, 0.064033, 0.0, 0.605382, 0.0, 0.10922],
        ),
    ],
)
def test_an_lstm_in_groups_is_tensorflows(options, wanted):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        x = tf.constant(np.linspace(-1, 1, 24).reshape(2, 3, 4).astype("float32"))
        outputs, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.GLSTMCell(4, **options), x, dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(outputs).ravel()[-6:], wanted, atol=2e-6)
        names = [v.op.name.removeprefix("rnn/glstm_cell/") for v in tf.global_variables()]
    assert names[0] == "group0/kernel"
    assert [name for name in names if "bias" in name] == ["bias_i", "bias_j", "bias_f", "bias_o"]
    assert names[-1] == ("projection/kernel" if "num_proj" in options else "bias_o")


def test_an_lstm_in_groups_needs_whole_groups():
    with pytest.raises(ValueError, match=r"num_units \(5\) must be divisible by number_of_groups \(2\)"):
        tf.contrib.rnn.GLSTMCell(5, number_of_groups=2)
    cell = tf.contrib.rnn.GLSTMCell(4, number_of_groups=2)
    with pytest.raises(ValueError, match=r"input size \(3\) must be divisible"):
        cell(tf.ones([1, 3]), cell.zero_state(1, tf.float32))


def test_conv_lstm_needs_channels():
    with pytest.raises(ValueError, match="axes and channels"):
        tf.contrib.rnn.ConvLSTMCell(2, [4, 3], 2, [2, 2])


def test_attention_to_lengths_in_a_list_draws_its_seeds():
    """The list is a constant of the graph: without it, later weights had other seeds."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        memory = tf.placeholder_with_default(np.zeros((5, 8, 10), np.float32), (None, None, 10))
        tf.contrib.seq2seq.LuongAttention(3, memory, memory_sequence_length=[3, 2, 3, 1, 1])
        kernel = graph.get_operation_by_name("memory_layer/kernel/Initializer/random_uniform/RandomUniform")
        tf.random_uniform([2])
        assert kernel.get_attr("seed2") == 27
        assert graph.get_operation_by_name("random_uniform/RandomUniform").get_attr("seed2") == 67
        assert graph.get_operation_by_name("LuongAttention/memory_sequence_length").type == "Const"


def test_the_batch_size_of_a_decoder_is_a_tensor():
    """A program may fetch it; its value is known while the graph is built."""
    seq2seq, cell = tf.contrib.seq2seq, tf.nn.rnn_cell.GRUCell(3)
    helpers = [
        seq2seq.TrainingHelper(tf.zeros([4, 2, 3]), [2, 1, 2, 2]),
        seq2seq.GreedyEmbeddingHelper(tf.zeros([5, 3]), [0, 0, 0, 0], 1),
        seq2seq.InferenceHelper(lambda x: x, [3], tf.float32, tf.zeros([4, 3]), lambda x: x[:, 0] > 1),
    ]
    decoders = [seq2seq.BasicDecoder(cell, helper, cell.zero_state(4, tf.float32)) for helper in helpers]
    with tf.Session() as session:
        assert session.run([decoder.batch_size for decoder in decoders]) == [4, 4, 4]
    _, _, lengths = seq2seq.dynamic_decode(decoders[0])
    assert lengths.shape.as_list() == [4]


@pytest.mark.parametrize(
    "make, wanted",
    [
        (
            lambda: rnn_cell.LayerNormLSTMCell(3, True, 1.2, None, 2, 0.3, layer_norm=True),
            [-0.003708, -0.004506, 0.164565, 0.006037],
        ),
        (lambda: rnn_cell.LayerNormLSTMCell(3), [-0.009959, 0.033969, -0.037494, -0.121817]),
        (
            lambda: rnn_cell.WeightNormLSTMCell(3, use_peepholes=True, num_proj=2),
            [0.000591, -0.006049, 0.006619, -0.018282],
        ),
        (lambda: rnn_cell.WeightNormLSTMCell(3, norm=False), [-0.009959, 0.033969, -0.037494, -0.121817]),
        (lambda: rnn_cell.MinimalRNNCell(3), [0.052812, -0.509508, 0.079165, 0.433611]),
        (lambda: rnn_cell.CFNCell(3), [-0.021048, 0.790262, -0.047782, -0.315713]),
    ],
)
def test_normalized_and_minimal_cells_are_tensorflows(make, wanted):
    """With a graph seed alone: their variables also draw the seeds of TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        x = tf.constant(np.linspace(-1, 1, 24).reshape(3, 4, 2).astype("float32"))
        outputs, _ = tf.nn.static_rnn(make(), tf.unstack(x, axis=1), dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(outputs[-1]).ravel()[-4:], wanted, atol=1e-5)
