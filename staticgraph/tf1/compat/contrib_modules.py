"""`tensorflow.contrib.*.python.*`: inner modules that programs import nevertheless.

Each shows all public names of the package that it implemented. The paths are those of TensorFlow 1.15.
"""

from __future__ import annotations

from staticgraph.tf1.compat.namespace import Area

# The package, the folder in it, and the modules there.
_MODULES = (
    ("crf", "python.ops", "crf"),
    ("cudnn_rnn", "python.layers", "cudnn_rnn"),
    ("cudnn_rnn", "python.ops", "cudnn_rnn_ops"),
    ("data", "python.ops", "batching counter enumerate_ops error_ops get_single_element grouping"),
    ("data", "python.ops", "interleave_ops prefetching_ops random_ops readers resampling scan_ops"),
    ("data", "python.ops", "shuffle_ops sliding unique"),
    ("distribute", "python", "collective_all_reduce_strategy mirrored_strategy"),
    ("distribute", "python", "parameter_server_strategy"),
    ("distributions", "python.ops", "binomial cauchy chi2 deterministic geometric half_normal independent"),
    ("distributions", "python.ops", "inverse_gamma logistic mixture mixture_same_family mvn_diag"),
    ("distributions", "python.ops", "mvn_full_covariance mvn_tril negative_binomial onehot_categorical"),
    ("distributions", "python.ops", "poisson relaxed_bernoulli relaxed_onehot_categorical sample_stats"),
    ("feature_column", "python.feature_column", "sequence_feature_column"),
    ("framework", "python.framework", "checkpoint_utils graph_util tensor_util"),
    ("framework", "python.ops", "arg_scope gen_variable_ops ops script_ops variables"),
    ("image", "python.ops", "dense_image_warp image_ops interpolate_spline sparse_image_warp"),
    ("integrate", "python.ops", "odes"),
    ("layers", "python.layers", "embedding_ops encoders feature_column feature_column_ops initializers"),
    ("layers", "python.layers", "layers normalization optimizers regularizers rev_block_lib summaries"),
    ("learn", "python.learn", "experiment monitors"),
    ("learn", "python.learn.estimators", "dnn dnn_linear_combined head linear prediction_key"),
    ("legacy_seq2seq", "python.ops", "seq2seq"),
    ("losses", "python.losses", "loss_ops"),
    ("metrics", "python.metrics", "classification"),
    ("metrics", "python.ops", "confusion_matrix_ops histogram_ops metric_ops set_ops"),
    ("mixed_precision", "python", "loss_scale_manager loss_scale_optimizer"),
    ("nn", "python.ops", "alpha_dropout cross_entropy sampling_ops scaled_softplus"),
    ("opt", "python.training", "adamax addsign external_optimizer lars_optimizer lazy_adam_optimizer"),
    ("opt", "python.training", "moving_average_optimizer nadam_optimizer powersign"),
    ("opt", "python.training", "variable_clipping_optimizer weight_decay_optimizers"),
    ("resampler", "python.ops", "resampler_ops"),
    ("rnn", "python.ops", "fused_rnn_cell gru_ops lstm_ops rnn rnn_cell"),
    ("seq2seq", "python.ops", "attention_wrapper basic_decoder beam_search_decoder decoder helper loss"),
    ("sparsemax", "python.ops", "sparsemax sparsemax_loss"),
    ("training", "python.training", "bucket_ops device_setter evaluation hparam resample sampling_ops"),
    ("training", "python.training", "training"),
)

_BIJECTORS = (
    "affine",
    "affine_scalar",
    "chain",
    "exp",
    "gumbel",
    "inline",
    "invert",
    "masked_autoregressive",
    "permute",
    "power_transform",
    "real_nvp",
    "sigmoid",
    "softmax_centered",
    "softplus",
    "softsign",
    "square",
)

AREAS: dict[str, Area] = {
    f"contrib.{package}.{path}": Area(areas=(f"contrib.{package}",))
    for package, folder, modules in _MODULES
    for path in (folder, *(f"{folder}.{module}" for module in modules.split()))
} | {
    f"contrib.distributions.python.ops.bijectors{below}": Area(areas=("contrib.distributions.bijectors",))
    for below in ("", *(f".{name}" for name in _BIJECTORS))
} | {
    # The package shows the function, not the module of that name.
    "contrib.framework.python.ops": Area(
        names={"arg_scope": "contrib.framework.arg_scope"}, areas=("contrib.framework",)
    ),
}  # fmt: skip
