"""Layers of models (TF1's `tf.keras.layers`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.state.input_spec": "InputSpec",
        "staticgraph.tf1.keras.engine.input_layer": "Input InputLayer",
        "staticgraph.tf1.keras.engine.layer": "Layer",
        "staticgraph.tf1.keras.layers.activation": "ELU LeakyReLU PReLU ReLU Softmax ThresholdedReLU",
        "staticgraph.tf1.keras.layers.attention": "AdditiveAttention Attention",
        "staticgraph.tf1.keras.layers.cells": (
            "AbstractRNNCell GRUCell LSTMCell SimpleRNNCell StackedRNNCells"
        ),
        "staticgraph.tf1.keras.layers.configs": "deserialize serialize",
        "staticgraph.tf1.keras.layers.convolution": (
            "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose Convolution1D Convolution2D "
            "Convolution2DTranspose Convolution3D Convolution3DTranspose DepthwiseConv2D SeparableConv1D "
            "SeparableConv2D SeparableConvolution1D SeparableConvolution2D"
        ),
        "staticgraph.tf1.keras.layers.convolutional_recurrent": "ConvLSTM2D",
        "staticgraph.tf1.keras.layers.core": (
            "Activation ActivityRegularization Dense Dropout Embedding Flatten Lambda Masking Permute "
            "RepeatVector Reshape SpatialDropout1D SpatialDropout2D SpatialDropout3D"
        ),
        "staticgraph.tf1.keras.layers.feature_columns": "DenseFeatures",
        "staticgraph.tf1.keras.layers.local": "LocallyConnected1D LocallyConnected2D",
        "staticgraph.tf1.keras.layers.merge": (
            "Add add Average average Concatenate concatenate Dot dot Maximum maximum Minimum minimum "
            "Multiply multiply Subtract subtract"
        ),
        "staticgraph.tf1.keras.layers.noise": "AlphaDropout GaussianDropout GaussianNoise",
        "staticgraph.tf1.keras.layers.normalization": "BatchNormalization LayerNormalization",
        "staticgraph.tf1.keras.layers.pooling": (
            "AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D "
            "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D "
            "GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D "
            "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D MaxPool1D MaxPool2D MaxPool3D "
            "MaxPooling1D MaxPooling2D MaxPooling3D"
        ),
        "staticgraph.tf1.keras.layers.recurrent": "CuDNNGRU CuDNNLSTM GRU LSTM RNN SimpleRNN",
        "staticgraph.tf1.keras.layers.space": (
            "Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D "
            "ZeroPadding2D ZeroPadding3D"
        ),
        "staticgraph.tf1.keras.layers.wrappers": "Bidirectional TimeDistributed Wrapper",
    },
)
