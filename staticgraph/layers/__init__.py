"""Layers that own their variables, as functions and as classes (TF1's `tf.layers`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.layers.convolution": (
            "Conv1D conv1d Conv2D conv2d conv2d_transpose Conv2DTranspose Conv3D conv3d conv3d_transpose "
            "Conv3DTranspose separable_conv1d SeparableConv1D separable_conv2d SeparableConv2D"
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
