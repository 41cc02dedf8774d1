"""Layers that own their variables, as functions and as classes (TF1's `tf.layers`)."""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names

# For type checkers. A program imports what it uses, by the table below.
if TYPE_CHECKING:
    from staticgraph.layers.convolution import *
    from staticgraph.layers.core import *
    from staticgraph.layers.normalization import *
    from staticgraph.layers.pooling import *
    from staticgraph.state.layer import *

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "staticgraph.layers.convolution": (
            "Conv1D conv1d Conv2D conv2d conv2d_transpose Conv2DTranspose Conv3D conv3d separable_conv2d "
            "SeparableConv2D"
        ),
        "staticgraph.layers.core": "Dense dense Dropout dropout Flatten flatten",
        "staticgraph.layers.normalization": "batch_normalization BatchNormalization",
        "staticgraph.layers.pooling": (
            "average_pooling1d average_pooling2d average_pooling3d AveragePooling1D AveragePooling2D "
            "AveragePooling3D max_pooling1d max_pooling2d max_pooling3d MaxPooling1D MaxPooling2D "
            "MaxPooling3D"
        ),
        "staticgraph.state.layer": "Layer",
    },
)
