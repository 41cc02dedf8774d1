"""Neural network operations, with TensorFlow 1's names: `sg.nn`."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.arrays.sorting": "in_top_k top_k",
        "staticgraph.arrays.space": "depth_to_space space_to_batch space_to_depth",
        "staticgraph.linear_algebra.norms": "l2_normalize",
        "staticgraph.nn.activation": (
            "crelu elu gelu leaky_relu relu relu6 selu sigmoid silu softplus softsign swish tanh"
        ),
        "staticgraph.nn.bias": "bias_add relu_layer xw_plus_b zero_fraction",
        "staticgraph.nn.convolutions": (
            "atrous_conv2d atrous_conv2d_transpose conv1d conv1d_transpose conv2d conv2d_backprop_filter "
            "conv2d_backprop_input conv2d_transpose conv3d conv3d_backprop_filter conv3d_backprop_filter_v2 "
            "conv3d_transpose conv_transpose convolution"
        ),
        "staticgraph.nn.ctc": "ctc_loss",
        "staticgraph.nn.ctc_dense": "collapse_repeated ctc_loss_v2 ctc_unique_labels",
        "staticgraph.nn.ctc_decoding": (
            "ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder"
        ),
        "staticgraph.nn.depthwise": (
            "depthwise_conv2d depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input "
            "depthwise_conv2d_native depthwise_conv2d_native_backprop_filter "
            "depthwise_conv2d_native_backprop_input separable_conv2d"
        ),
        "staticgraph.nn.embedding": "embedding_lookup",
        "staticgraph.nn.loss": (
            "l2_loss log_poisson_loss log_softmax sigmoid_cross_entropy_with_logits softmax "
            "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
            "sparse_softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits"
        ),
        "staticgraph.nn.morphology": "dilation2d erosion2d",
        "staticgraph.nn.normalization": (
            "batch_norm_with_global_normalization batch_normalization dropout fused_batch_norm "
            "layer_normalization local_response_normalization lrn moments normalize_moments "
            "sufficient_statistics weighted_moments"
        ),
        "staticgraph.nn.pooling": (
            "avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2 max_pool max_pool1d max_pool2d max_pool3d "
            "max_pool_v2 max_pool_with_argmax pool"
        ),
        "staticgraph.nn.rnn_dynamic": "bidirectional_dynamic_rnn dynamic_rnn",
        "staticgraph.nn.rnn_raw": "raw_rnn",
        "staticgraph.nn.rnn_static": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
        "staticgraph.nn.sampled_loss": "nce_loss sampled_softmax_loss",
        "staticgraph.nn.sampling": (
            "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
            "log_uniform_candidate_sampler uniform_candidate_sampler"
        ),
        "staticgraph.nn.scaling": "compute_average_loss scale_regularization_loss",
        "staticgraph.nn.sparse_embedding": "embedding_lookup_sparse safe_embedding_lookup_sparse",
    },
    modules={"rnn_cell": "staticgraph.nn.rnn_cell"},
)
