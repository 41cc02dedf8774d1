"""Layers that own their variables, as functions and as classes (TF1's `tf.layers`)."""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names

# For type checkers. A program imports what it uses, by the table below.
if TYPE_CHECKING:
    from staticgraph.layers.convolution import (
        Conv1D,
        Conv2D,
        Conv2DTranspose,
        Conv3D,
        SeparableConv2D,
        conv1d,
        conv2d,
        conv2d_transpose,
        conv3d,
        separable_conv2d,
    )
    from staticgraph.layers.core import Dense, Dropout, Flatten, dense, dropout, flatten
    from staticgraph.layers.normalization import BatchNormalization, batch_normalization
    from staticgraph.layers.pooling import (
        AveragePooling1D,
        AveragePooling2D,
        AveragePooling3D,
        MaxPooling1D,
        MaxPooling2D,
        MaxPooling3D,
        average_pooling1d,
        average_pooling2d,
        average_pooling3d,
        max_pooling1d,
        max_pooling2d,
        max_pooling3d,
    )
    from staticgraph.state.layer import Layer

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Dense",
    "Dropout",
    "Flatten",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv2d",
]

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
