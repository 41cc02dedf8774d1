"""Neural network operations, with TensorFlow 1's names: `sg.nn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from staticgraph.arrays.sorting import in_top_k, top_k
from staticgraph.arrays.space import depth_to_space, space_to_batch, space_to_depth
from staticgraph.compiler import ops
from staticgraph.linalg import l2_normalize
from staticgraph.nn.activation import (
    crelu,
    elu,
    leaky_relu,
    relu,
    relu6,
    selu,
    sigmoid,
    softplus,
    softsign,
    swish,
    tanh,
)
from staticgraph.nn.bias import bias_add, relu_layer, xw_plus_b, zero_fraction
from staticgraph.nn.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_backprop_filter,
    conv3d_backprop_filter_v2,
    conv3d_transpose,
    conv_transpose,
    convolution,
)
from staticgraph.nn.depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from staticgraph.nn.embedding import embedding_lookup
from staticgraph.nn.loss import (
    log_poisson_loss,
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from staticgraph.nn.morphology import dilation2d, erosion2d
from staticgraph.nn.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    dropout,
    fused_batch_norm,
    layer_normalization,
    local_response_normalization,
    lrn,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from staticgraph.nn.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    avg_pool_v2,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_v2,
    max_pool_with_argmax,
    pool,
)
from staticgraph.nn.sampled_loss import nce_loss, sampled_softmax_loss
from staticgraph.nn.sampling import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from staticgraph.nn.scaling import compute_average_loss, scale_regularization_loss
from staticgraph.nn.sparse_embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse

# Sequences. Imported when they are first used: most programs have none.
if TYPE_CHECKING:
    from staticgraph.nn import rnn_cell as rnn_cell
    from staticgraph.nn.rnn_names import (
        bidirectional_dynamic_rnn,
        ctc_beam_search_decoder,
        ctc_beam_search_decoder_v2,
        ctc_greedy_decoder,
        ctc_loss,
        dynamic_rnn,
        raw_rnn,
        static_bidirectional_rnn,
        static_rnn,
        static_state_saving_rnn,
    )

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "layer_normalization",
    "leaky_relu",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]

l2_loss = ops.l2_loss


def __getattr__(name: str) -> Any:
    if name == "rnn_cell":
        import staticgraph.nn.rnn_cell

        return staticgraph.nn.rnn_cell
    if name in __all__:
        from staticgraph.nn import rnn_names

        return getattr(rnn_names, name)
    raise AttributeError(f"module 'staticgraph.nn' has no attribute {name!r}")
