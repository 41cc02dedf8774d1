"""`tf.contrib`, as far as programs use it: which of our names, and of the modules in `legacy`, it shows."""

from staticgraph.formats.tf.saved_model import predictor
from staticgraph.tf1.compat import contrib_modules
from staticgraph.tf1.compat.contrib import columns as contrib_columns
from staticgraph.tf1.compat.contrib import distribute as contrib_distribute
from staticgraph.tf1.compat.contrib import hyperparameters, regularizers, tpu_estimator, vocabulary
from staticgraph.tf1.compat.contrib import inputs as contrib_inputs
from staticgraph.tf1.compat.contrib import layers as contrib_layers
from staticgraph.tf1.compat.contrib import lookup as contrib_lookup
from staticgraph.tf1.compat.contrib import losses as contrib_losses
from staticgraph.tf1.compat.contrib.framework import (
    arg_scope,
    checkpoint_assignment,
    model_analyzer,
    model_variables,
)
from staticgraph.tf1.compat.contrib.layer_functions import channels, convolutions, normalization, separable
from staticgraph.tf1.compat.contrib.learn import estimators, experiment, models, runner
from staticgraph.tf1.compat.contrib.metrics import streaming
from staticgraph.tf1.compat.contrib.optimizers import external, optimize_loss, rules, wrappers
from staticgraph.tf1.compat.contrib.training import loops, slim_learning, train_op
from staticgraph.tf1.compat.devices import accelerators
from staticgraph.tf1.compat.legacy import csv_data, mnist, projector
from staticgraph.tf1.compat.namespace import Area
from staticgraph.tf1.compat.rnn import (
    attention_mechanisms,
    attention_wrapper,
    beam_paths,
    beam_search,
    convolutional_cells,
    crf,
    cudnn_cells,
    decoding,
    decoding_helpers,
    fused_cells,
    gated_in_time,
    independent_cells,
    legacy_attention,
    legacy_decoders,
    legacy_seq2seq,
    recurrent_cells,
    recurrent_wrappers,
    sequence_losses,
)

_LAYERS = {
    "recompute_grad": "recompute_grad",
    "convolution1d": "contrib.layers.conv1d",
    "convolution2d": "contrib.layers.conv2d",
    "convolution2d_transpose": "contrib.layers.conv2d_transpose",
    "convolution3d": "contrib.layers.conv3d",
    "convolution3d_transpose": "contrib.layers.conv3d_transpose",
    "relu": "contrib.layers.fully_connected",
    "separable_convolution2d": "contrib.layers.separable_conv2d",
    "xavier_initializer_conv2d": "contrib.layers.xavier_initializer",
}
_STEP = {
    name: f"train.{name}"
    for name in ("assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step")
}
_CHECKPOINT = {
    name: f"train.{name}"
    for name in ("init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable")
}

_KERAS = """
    activations applications backend callbacks constraints datasets datasets.cifar10 datasets.mnist
    initializers layers losses metrics models optimizers preprocessing regularizers utils
"""

_TESTS = "python.framework.test_util"
_SUMMARIES = "audio_summary histogram_summary image_summary merge_all_summaries merge_summary scalar_summary"
_STATELESS = {
    "stateless_multinomial": "random.stateless_multinomial",
    "stateless_random_normal": "random.stateless_normal",
    "stateless_random_uniform": "random.stateless_uniform",
    "stateless_truncated_normal": "random.stateless_truncated_normal",
}

_LAYER_FUNCTIONS = tuple(
    f".contrib.layer_functions.{name}"
    for name in ("pooling", "embedding", "summaries", "sequences", "legacy", "divisive_normalization")
)
_PROVIDERS = ("data_decoder", "data_provider", "dataset", "dataset_data_provider")
_SLIM_DATA = {
    "tfexample_decoder": (".slim_data.decoders",),
    **dict.fromkeys(("parallel_reader", "prefetch_queue"), (".slim_data.readers",)),
    **dict.fromkeys(_PROVIDERS, (".slim_data.providers",)),
}
_NETS = "alexnet inception overfeat resnet_utils resnet_v1 resnet_v2 vgg"
_NET_MODULES = {name: (f".nets.{name}",) for name in _NETS.split()}
_NET_MODULES |= {f"inception_v{version}": (".nets.inception",) for version in (1, 2, 3)}
_DEPRECATED = "deprecated deprecated_arg_values deprecated_args"
_SAME = "argsort assert_scalar convert_to_tensor_or_sparse_tensor sort"
_FRAMEWORK = {name: name for name in _SAME.split()}
_WITH = ("with_hash_bucket", "with_identity", "with_vocabulary_file", "with_vocabulary_list")
_SEQUENCES = {
    f"sequence_{name}": f"feature_column.sequence_{name}"
    for name in ("numeric_column", *(f"categorical_column_{end}" for end in _WITH))
}
_FRAMEWORK |= {
    "assert_same_float_dtype": "debugging.assert_same_float_dtype",
    "BoundedTensorSpec": "python.framework.tensor_spec.BoundedTensorSpec",
    "TensorSpec": "TensorSpec",
    "py_func": "py_func",
    "smart_case": "python.framework.smart_cond.smart_case",
    "smart_cond": "python.framework.smart_cond.smart_cond",
    "smart_constant_value": "python.framework.smart_cond.smart_constant_value",
    **{name: f"python.util.deprecation.{name}" for name in _DEPRECATED.split()},
}

_TPU_MODULES = ("tpu", "tpu_config", "tpu_estimator", "tpu_function", "tpu_optimizer")

# What means the same without eager execution.
_SAME_AS_EVER = "TensorSpec Variable custom_gradient executing_eagerly function make_template"
_EAGER = {name: name for name in _SAME_AS_EVER.split()} | {
    "Checkpoint": "train.Checkpoint",
    "Iterator": "data.Iterator",
    "defun": "function",
    "in_eager_mode": "executing_eagerly",
    "py_func": "py_function",
    "run_all_tests_in_graph_and_eager_modes": f"{_TESTS}.run_all_in_graph_and_eager_modes",
    "run_test_in_graph_and_eager_modes": f"{_TESTS}.run_in_graph_and_eager_modes",
}

AREAS: dict[str, Area] = contrib_modules.AREAS | {
    "contrib.deprecated": Area(names={name: name for name in _SUMMARIES.split()}),
    "contrib.eager": Area(names=_EAGER),
    "contrib.eager.python.tfe": Area(areas=("contrib.eager",)),
    "contrib.nn": Area((".contrib.nn",)),
    "contrib.signal": Area(("signal",)),
    "contrib.compiler.jit": Area((".devices.compilation",)),
    "contrib.nccl": Area((".devices.collectives",)),
    "contrib.graph_editor": Area((".building.graph_editor",)),
    "contrib.stateless": Area(names=_STATELESS),
    "contrib.summary": Area(("tf1.summary.written",)),
    "contrib.summary.summary": Area(areas=("contrib.summary",)),
    "contrib.layers": Area(
        (
            contrib_layers, contrib_columns, channels, convolutions, normalization, optimize_loss,
            regularizers, separable, *_LAYER_FUNCTIONS,
        ), _LAYERS
    ),
    "contrib.layers.python.layers.utils": Area((".contrib.layer_utils",)),
    "contrib.framework": Area(
        (
            arg_scope, checkpoint_assignment, model_variables, ".contrib.framework.assignments",
            ".contrib.framework.shape_checks",
        ), _STEP | _CHECKPOINT | _FRAMEWORK
    ),
    "contrib.framework.python.ops.audio_ops": Area(areas=("audio",)),
    "contrib.framework.nest": Area((".building.partial_structures",), areas=("nest",)),
    "contrib.slim": Area(areas=("contrib.layers", "contrib.framework")),
    "contrib.slim.learning": Area((slim_learning,)),
    "contrib.slim.evaluation": Area((".contrib.training.slim_evaluation",)),
    "contrib.slim.queues": Area((".contrib.training.slim_queues",)),
    "contrib.slim.losses": Area((contrib_losses,)),
    "contrib.slim.initializers": Area(areas=("contrib.layers", "initializers")),
    "contrib.slim.regularizers": Area((regularizers,)),
    **{f"contrib.slim.{name}": Area(modules) for name, modules in _SLIM_DATA.items()},
    **{f"contrib.slim.python.slim.data.{name}": Area(modules) for name, modules in _SLIM_DATA.items()},
    **{f"contrib.slim.nets.{name}": Area(_NET_MODULES[name]) for name in _NETS.split()},
    **{f"contrib.slim.python.slim.nets.{name}": Area(modules) for name, modules in _NET_MODULES.items()},
    "contrib.lookup": Area((contrib_lookup,)),
    "contrib.slim.utils": Area((".contrib.layer_utils",)),
    "contrib.losses": Area((contrib_losses,)),
    "contrib.losses.metric_learning": Area((".contrib.metric_learning",)),
    "contrib.metrics": Area(
        (streaming, ".contrib.metrics.curves", ".contrib.metrics.moments"),
        {name: f"sets.{name}" for name in ("set_difference", "set_intersection", "set_size", "set_union")},
    ),
    "contrib.slim.metrics": Area(areas=("contrib.metrics",)),
    "contrib.predictor": Area((predictor, ".contrib.estimator_predictor")),
    "contrib.estimator": Area(("tf1.estimator.extenders",), areas=("estimator.experimental",)),
    "contrib.feature_column": Area((".contrib.layer_functions.sequence_columns",), _SEQUENCES),
    "contrib.factorization": Area((".contrib.learn.clustering", ".contrib.learn.clustering_estimator")),
    "contrib.factorization.python.ops.clustering_ops": Area((".contrib.learn.clustering",)),
    "contrib.factorization.python.ops.kmeans": Area((".contrib.learn.clustering_estimator",)),
    "contrib.image": Area(
        (".contrib.images.projective", ".contrib.images.warping", ".contrib.images.components")
    ),
    "contrib.integrate": Area((".contrib.integrate",)),
    "contrib.mixed_precision": Area((".contrib.optimizers.loss_scaling",)),
    "contrib.staging": Area((".contrib.staging",)),
    "contrib.resampler": Area((".contrib.images.sampling",)),
    "contrib.sparsemax": Area((".contrib.sparsemax",)),
    "contrib.rnn": Area((
        recurrent_cells, recurrent_wrappers, fused_cells, independent_cells, gated_in_time,
        convolutional_cells, ".rnn.group_lstm", ".rnn.normalized_cells",
    ), areas=("nn.rnn_cell",), names={
        "static_rnn": "nn.static_rnn",
        "static_bidirectional_rnn": "nn.static_bidirectional_rnn",
        "static_state_saving_rnn": "nn.static_state_saving_rnn",
    }),
    "contrib.data": Area(
        (".contrib.training.dataset_batches",),
        areas=("data.experimental", "data"),
        names={"Dataset": "data.Dataset"},
    ),
    "contrib.distributions": Area(areas=("distributions",)),
    "contrib.distributions.bijectors": Area(("distributions.bijectors",)),
    "contrib.opt": Area((rules, external, wrappers)),
    "contrib.crf": Area((crf,)),
    "contrib.cudnn_rnn": Area((cudnn_cells, ".rnn.cudnn_layers")),
    "contrib.rnn.python.ops.core_rnn_cell": Area((".rnn.cell_parts",), areas=("contrib.rnn",)),
    "contrib.seq2seq": Area((
        sequence_losses, decoding, decoding_helpers, attention_mechanisms, attention_wrapper,
        beam_paths, beam_search, ".rnn.monotonic_attention",
    )),
    "contrib.legacy_seq2seq": Area((legacy_seq2seq, legacy_decoders, legacy_attention)),
    "contrib.slim.model_analyzer": Area((model_analyzer,)),
    "contrib.tpu": Area((accelerators, tpu_estimator)),
    "contrib.tpu.python.tpu": Area(areas=("contrib.tpu",)),
    **{f"contrib.tpu.python.tpu.{name}": Area(areas=("contrib.tpu",)) for name in _TPU_MODULES},
    "tpu": Area((accelerators,)),
    "contrib.distribute": Area((contrib_distribute,), areas=("distribute",)),
    "contrib.checkpoint": Area(
        (".building.trackable",), {"CheckpointManager": "train.CheckpointManager"}
    ),
    "contrib.cluster_resolver": Area(names={"TPUClusterResolver": "contrib.tpu.TPUClusterResolver"}),
    "contrib.tensorboard.plugins.projector": Area((projector,)),
    "contrib.training": Area((
        hyperparameters, train_op, loops, ".contrib.training.evaluation", ".contrib.training.buckets",
        ".contrib.training.sampling", ".contrib.training.resampling", ".contrib.training.placement",
    )),
    "contrib.learn": Area(
        (estimators, models, experiment, ".contrib.learn.combined_models"),
        {"NanLossDuringTrainingError": "train.NanLossDuringTrainingError"},
    ),
    "contrib.keras": Area(areas=("keras",)),
    **{f"contrib.keras.{name}": Area(areas=(f"keras.{name}",)) for name in _KERAS.split()},
    "contrib.learn.io": Area((contrib_inputs, "estimator.inputs")),
    "contrib.learn.learn_runner": Area((runner,)),
    "contrib.learn.python.learn.learn_runner": Area((runner,)),
    "contrib.learn.python.learn.estimators.estimator": Area((estimators,)),
    "contrib.learn.python.learn.estimators.model_fn": Area((estimators,)),
    "contrib.learn.python.learn.estimators.run_config": Area((estimators,)),
    "contrib.learn.python.learn.metric_spec": Area((estimators,)),
    "contrib.learn.python.learn.utils.input_fn_utils": Area((experiment,)),
    "contrib.learn.preprocessing": Area((vocabulary,)),
    "contrib.learn.datasets.base": Area((csv_data,)),
    "contrib.learn.python.learn.datasets.base": Area((csv_data,)),
    "contrib.learn.datasets.mnist": Area((mnist,)),
    "contrib.learn.python.learn.datasets.mnist": Area((mnist,)),
}
