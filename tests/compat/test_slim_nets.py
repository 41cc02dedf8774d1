"""Parts of the nets of slim. `scripts/slim_nets.py` compares whole nets with TensorFlow."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compat import tf1 as tf
from staticgraph.tf1.compat.nets.inception import inception_v3_base
from staticgraph.tf1.compat.nets.resnet_utils import Block, conv2d_same, stack_blocks_dense, subsample

images = np.random.default_rng(0).normal(size=(1, 8, 8, 2)).astype(np.float32)


@pytest.mark.parametrize("rate", [1, 2])
def test_conv2d_same_is_a_convolution_of_which_pixels_are_left_out(rate):
    with sg.Graph().as_default(), sg.variable_scope("net", reuse=sg.AUTO_REUSE):
        x = sg.constant(images)
        dense = conv2d_same(x, 3, 3, 1, rate, scope="conv")
        strided = conv2d_same(x, 3, 3, 2, rate, scope="conv")
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            values = session.run([strided, subsample(dense, 2)])
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


def test_units_are_spread_out_where_the_stride_is_reached():
    calls = []

    def unit(net, **options):
        calls.append(options)
        return net

    block = Block("block", unit, [{"stride": 2}, {"stride": 2}, {"stride": 1}])
    with sg.Graph().as_default():
        x = sg.constant(images)
        stack_blocks_dense(x, [block], output_stride=2)
        with pytest.raises(ValueError, match="strides come to 4, and not to the output_stride 3"):
            stack_blocks_dense(x, [block], output_stride=3)
    assert calls[:3] == [{"rate": 1, "stride": 2}, {"rate": 1, "stride": 1}, {"rate": 2, "stride": 1}]


def test_an_unknown_end_point_is_told_with_those_that_there_are():
    with sg.Graph().as_default(), pytest.raises(ValueError, match=r"'Mixed_9z' is none of Conv2d_1a_3x3, "):
        inception_v3_base(sg.constant(images), "Mixed_9z")


def test_modules_have_tensorflows_paths():
    nets = tf.contrib.slim.nets
    assert nets.resnet_v1.resnet_v1_50.__name__ == "resnet_v1_50"
    assert tf.contrib.slim.python.slim.nets.inception_v3.inception_v3 is nets.inception.inception_v3
