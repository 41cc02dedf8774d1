"""Layers of models (TF1's `tf.keras.layers`). Made by tools/type_stubs.py."""

from staticgraph.state.input_spec import (
    InputSpec as InputSpec,
)
from staticgraph.tf1.keras.engine.input_layer import (
    Input as Input,
    InputLayer as InputLayer,
)
from staticgraph.tf1.keras.engine.layer import (
    Layer as Layer,
)
from staticgraph.tf1.keras.layers.activation import (
    ELU as ELU,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    ReLU as ReLU,
    Softmax as Softmax,
    ThresholdedReLU as ThresholdedReLU,
)
from staticgraph.tf1.keras.layers.attention import (
    AdditiveAttention as AdditiveAttention,
    Attention as Attention,
)
from staticgraph.tf1.keras.layers.cells import (
    AbstractRNNCell as AbstractRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    SimpleRNNCell as SimpleRNNCell,
    StackedRNNCells as StackedRNNCells,
)
from staticgraph.tf1.keras.layers.configs import (
    deserialize as deserialize,
    serialize as serialize,
)
from staticgraph.tf1.keras.layers.convolution import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose,
    Conv3D as Conv3D,
    Conv3DTranspose as Conv3DTranspose,
    Convolution1D as Convolution1D,
    Convolution2D as Convolution2D,
    Convolution2DTranspose as Convolution2DTranspose,
    Convolution3D as Convolution3D,
    Convolution3DTranspose as Convolution3DTranspose,
    DepthwiseConv2D as DepthwiseConv2D,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
    SeparableConvolution1D as SeparableConvolution1D,
    SeparableConvolution2D as SeparableConvolution2D,
)
from staticgraph.tf1.keras.layers.convolutional_recurrent import (
    ConvLSTM2D as ConvLSTM2D,
)
from staticgraph.tf1.keras.layers.core import (
    Activation as Activation,
    ActivityRegularization as ActivityRegularization,
    Dense as Dense,
    Dropout as Dropout,
    Embedding as Embedding,
    Flatten as Flatten,
    Lambda as Lambda,
    Masking as Masking,
    Permute as Permute,
    RepeatVector as RepeatVector,
    Reshape as Reshape,
    SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
)
from staticgraph.tf1.keras.layers.feature_columns import (
    DenseFeatures as DenseFeatures,
)
from staticgraph.tf1.keras.layers.local import (
    LocallyConnected1D as LocallyConnected1D,
    LocallyConnected2D as LocallyConnected2D,
)
from staticgraph.tf1.keras.layers.merge import (
    Add as Add,
    Average as Average,
    Concatenate as Concatenate,
    Dot as Dot,
    Maximum as Maximum,
    Minimum as Minimum,
    Multiply as Multiply,
    Subtract as Subtract,
    add as add,
    average as average,
    concatenate as concatenate,
    dot as dot,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    subtract as subtract,
)
from staticgraph.tf1.keras.layers.noise import (
    AlphaDropout as AlphaDropout,
    GaussianDropout as GaussianDropout,
    GaussianNoise as GaussianNoise,
)
from staticgraph.tf1.keras.layers.normalization import (
    BatchNormalization as BatchNormalization,
    LayerNormalization as LayerNormalization,
)
from staticgraph.tf1.keras.layers.pooling import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    AvgPool1D as AvgPool1D,
    AvgPool2D as AvgPool2D,
    AvgPool3D as AvgPool3D,
    GlobalAveragePooling1D as GlobalAveragePooling1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D,
    GlobalAveragePooling3D as GlobalAveragePooling3D,
    GlobalAvgPool1D as GlobalAvgPool1D,
    GlobalAvgPool2D as GlobalAvgPool2D,
    GlobalAvgPool3D as GlobalAvgPool3D,
    GlobalMaxPool1D as GlobalMaxPool1D,
    GlobalMaxPool2D as GlobalMaxPool2D,
    GlobalMaxPool3D as GlobalMaxPool3D,
    GlobalMaxPooling1D as GlobalMaxPooling1D,
    GlobalMaxPooling2D as GlobalMaxPooling2D,
    GlobalMaxPooling3D as GlobalMaxPooling3D,
    MaxPool1D as MaxPool1D,
    MaxPool2D as MaxPool2D,
    MaxPool3D as MaxPool3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
)
from staticgraph.tf1.keras.layers.recurrent import (
    CuDNNGRU as CuDNNGRU,
    CuDNNLSTM as CuDNNLSTM,
    GRU as GRU,
    LSTM as LSTM,
    RNN as RNN,
    SimpleRNN as SimpleRNN,
)
from staticgraph.tf1.keras.layers.space import (
    Cropping1D as Cropping1D,
    Cropping2D as Cropping2D,
    Cropping3D as Cropping3D,
    UpSampling1D as UpSampling1D,
    UpSampling2D as UpSampling2D,
    UpSampling3D as UpSampling3D,
    ZeroPadding1D as ZeroPadding1D,
    ZeroPadding2D as ZeroPadding2D,
    ZeroPadding3D as ZeroPadding3D,
)
from staticgraph.tf1.keras.layers.wrappers import (
    Bidirectional as Bidirectional,
    TimeDistributed as TimeDistributed,
    Wrapper as Wrapper,
)
