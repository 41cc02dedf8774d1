"""`tensorflow.python.*` and `tensorflow.examples.*`: internal modules that programs import nevertheless.

Each shows the public names of the area that it implemented: more names than TF1's had, but none of those that
are supported is missing where TF1 had defined it.
"""

import contextlib
import inspect

from staticgraph.state import moving_averages, partitioned
from staticgraph.tf1 import timeline
from staticgraph.tf1.compat.building import (
    argument_specs,
    library_helpers,
    proto_functions,
    run_conversions,
    scope_names,
)
from staticgraph.tf1.compat.devices import device_settings, device_spec, local_devices
from staticgraph.tf1.compat.legacy import (
    conditions,
    decorators,
    estimator_keys,
    file_contents,
    logging,
    mnist,
    mnist_model,
    resource_loader,
    strings,
    tensor_shapes,
)
from staticgraph.tf1.compat.namespace import Area
from staticgraph.tf1.compat.testing import gradient_checker, test_util

# Package, the areas whose names its modules show (`tf` is the root), and the modules.
_MODULES = (
    ("client", "tf", "client session"),
    ("data.ops", "data data.experimental", "dataset_ops iterator_ops readers"),
    ("data.util", "contrib.framework.nest", "nest"),
    ("eager", "tf", "backprop context"),
    ("estimator", "estimator", "estimator model_fn run_config training"),
    ("estimator.inputs", "estimator.inputs", "inputs numpy_io pandas_io"),
    ("feature_column", "feature_column", "feature_column feature_column_lib feature_column_v2"),
    ("framework", "dtypes tf", "dtypes"),
    ("framework", "errors", "errors errors_impl"),
    ("framework", "graph_util", "graph_util"),
    ("framework", "random tf", "random_seed"),
    ("framework", "tf", "common_shapes constant_op device importer load_library op_def_registry"),
    ("framework", "tf", "ops sparse_tensor"),
    ("framework", "train", "graph_io meta_graph"),
    ("layers", "layers", "base convolutional core layers normalization pooling"),
    ("framework", "version", "versions"),
    ("lib.io", "python_io", "python_io tf_record"),
    ("ops", "bitwise", "bitwise_ops gen_bitwise_ops"),
    ("ops", "debugging tf", "check_ops"),
    ("ops", "image", "gen_image_ops image_grad image_ops image_ops_impl"),
    ("ops", "initializers tf", "init_ops"),
    ("ops", "io tf", "gen_io_ops gen_parsing_ops io_ops parsing_ops"),
    ("ops", "linalg tf", "gen_linalg_ops linalg_grad linalg_ops linalg_ops_impl"),
    ("ops", "lookup contrib.lookup tf", "lookup_ops"),
    ("ops", "math linalg tf", "gen_math_ops math_grad math_ops special_math_ops"),
    ("ops", "metrics", "metrics"),
    ("ops", "nn", "candidate_sampling_ops ctc_ops embedding_ops gen_ctc_ops gen_nn_ops nn nn_grad nn_impl"),
    ("ops", "nn tf", "nn_ops rnn"),
    ("ops", "nn.rnn_cell", "rnn_cell"),
    ("ops", "random tf", "gen_random_ops random_ops stateless_random_ops"),
    ("ops", "sets", "sets sets_impl"),
    ("ops", "signal", "gen_spectral_ops spectral_ops"),
    ("ops.signal", "signal", "dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops"),
    ("ops.signal", "signal", "spectral_ops window_ops"),
    ("ops", "sparse tf", "gen_sparse_ops sparse_grad sparse_ops"),
    ("ops", "strings tf", "gen_string_ops string_ops"),
    ("ops", "summary", "summary_ops"),
    ("ops", "tf", "array_grad array_ops clip_ops confusion_matrix custom_gradient data_flow_grad"),
    ("ops", "tf", "control_flow_grad data_flow_ops functional_ops gen_array_ops gen_control_flow_ops"),
    ("ops", "tf", "gen_data_flow_ops gen_logging_ops gen_script_ops"),
    ("ops", "tf", "gen_state_ops gradients gradients_impl histogram_ops"),
    ("ops", "tf", "inplace_ops logging_ops map_fn numerics partitioned_variables resource_variable_ops"),
    ("ops", "tf", "resources script_ops session_ops sort_ops standard_ops state_grad state_ops template"),
    ("ops", "tf", "tensor_array_grad tensor_array_ops"),
    ("ops", "tf", "variable_scope variables"),
    ("ops.distributions", "distributions", "distributions normal"),
    ("ops.linalg", "linalg tf", "linalg linalg_impl"),
    ("ops.losses", "losses", "losses losses_impl util"),
    ("platform", "app", "app"),
    ("platform", "flags", "flags"),
    ("platform", "gfile", "gfile"),
    ("platform", "test", "googletest test"),
    ("saved_model", "saved_model.builder", "builder"),
    ("saved_model", "saved_model.constants", "constants"),
    ("saved_model", "saved_model.loader", "loader"),
    ("saved_model", "saved_model.signature_constants", "signature_constants"),
    ("saved_model", "saved_model.signature_def_utils", "signature_def_utils"),
    ("saved_model", "saved_model.tag_constants", "tag_constants"),
    ("saved_model", "saved_model.utils", "utils"),
    ("summary", "summary", "summary"),
    ("summary.writer", "summary", "writer"),
    ("training", "train", "adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks"),
    ("training", "train", "checkpoint_management checkpoint_utils coordinator ftrl gradient_descent input"),
    ("training", "train", "learning_rate_decay learning_rate_decay_v2 momentum monitored_session"),
    ("training", "train", "device_setter optimizer proximal_adagrad proximal_gradient_descent server_lib"),
    ("training", "train", "queue_runner queue_runner_impl rmsprop saver session_manager session_run_hook"),
    ("training", "train", "supervisor sync_replicas_optimizer training training_ops training_util"),
)

_KERAS = (
    "activations", "backend", "callbacks", "constraints", "datasets", "initializers", "layers", "losses",
    "metrics", "models", "optimizers", "preprocessing", "regularizers", "utils",
)

# What libraries call in modules of TensorFlow, whichever of them has it, and the area that shows it to all.
_EVERYWHERE = "python.util.all_util"
_HELPERS = (
    library_helpers, partitioned, proto_functions, scope_names, run_conversions, ".building.restoring",
)

_SHAPES = {name: name for name in ("Dimension", "TensorShape", "dimension_at_index", "dimension_value")}

AREAS = {
    f"python.{package}.{module}": Area(
        areas=tuple("" if area == "tf" else area for area in (*areas.split(), _EVERYWHERE))
    )
    for package, areas, modules in _MODULES
    for module in modules.split()
} | {
    _EVERYWHERE: Area(_HELPERS),
    "python.client.device_lib": Area((local_devices,)),
    "python.ops.rnn_cell_impl": Area((".rnn.cell_parts",), areas=("nn.rnn_cell",)),
    "python.client.timeline": Area((timeline,)),
    "python.framework.config": Area((device_settings,)),
    "python.framework.device": Area((device_spec,)),
    "python.platform.resource_loader": Area((resource_loader,)),
    "python.framework.function": Area((".building.defun",), areas=("",)),
    "python.framework.tensor_spec": Area((".building.type_specs",)),
    "python.framework.type_spec": Area((".building.type_specs",)),
    "python.ops.critical_section_ops": Area((".building.critical_section",)),
    "python.training.tracking.tracking": Area((".building.trackable",)),
    "python.training.tracking.util": Area(areas=("train",)),
    "python.ops.distributions.bijector": Area(areas=("contrib.distributions.bijectors",)),
    "python.ops.ragged": Area(areas=("ragged",)),
    "python.ops.ragged.ragged_tensor": Area(areas=("ragged", "")),
    "python.framework.smart_cond": Area((conditions,)),
    "python.framework.tensor_shape": Area((tensor_shapes,), _SHAPES),
    "python.layers.utils": Area((conditions,), {"constant_value": "get_static_value"}),
    "python.ops.control_flow_ops": Area((conditions, ".building.switches"), areas=("",)),
    "python.estimator.canned.metric_keys": Area((estimator_keys,)),
    "python.estimator.canned.prediction_keys": Area((estimator_keys,)),
    "python.estimator.util": Area((argument_specs,)),
    "python.ops.data_flow_ops": Area((".contrib.staging",), areas=("", _EVERYWHERE)),
    "python.ops.nccl_ops": Area((".devices.collectives",)),
    "python.ops.inplace_ops": Area((".building.rows_in_place",)),
    "python.ops.summary_ops_v2": Area(("tf1.summary.written",)),
    "python.ops.gradient_checker": Area((gradient_checker,)),
    "python.ops.parallel_for": Area((".building.jacobians",)),
    "python.ops.parallel_for.gradients": Area((".building.jacobians",)),
    "python.framework.test_util": Area((test_util,), areas=("test",)),
    "python.keras": Area(areas=("keras",)),
    **{f"python.keras.{name}": Area(areas=(f"keras.{name}",)) for name in _KERAS},
    "python.lib.io.file_io": Area((file_contents,), areas=("io.file_io",)),
    "python.platform.tf_logging": Area((logging,)),
    "python.pywrap_tensorflow": Area(
        ("tf1.summary.events_writer",), {"NewCheckpointReader": "train.NewCheckpointReader"}
    ),
    "python.tools.freeze_graph": Area((".freeze_graph",)),
    "python.tools.optimize_for_inference_lib": Area((".inference_graphs",)),
    "python.tools.strip_unused_lib": Area((".inference_graphs",)),
    "python.tf2": Area(names={"enabled": "python.util.all_util.in_eager_mode"}),
    "python.tpu.tpu_function": Area(areas=("contrib.tpu",)),
    "python.training.slot_creator": Area((".building.slot_creation",)),
    "python.training.moving_averages": Area((moving_averages,), areas=("train",)),
    "python.util.compat": Area((strings,)),
    "python.util.deprecation": Area((decorators,)),
    "python.util.tf_contextlib": Area((contextlib,)),
    "python.util.tf_decorator": Area((decorators,)),
    "python.util.tf_export": Area((decorators,)),
    "python.util.tf_inspect": Area((argument_specs, inspect)),
    "python.util.function_utils": Area((argument_specs,)),
    "python.util.nest": Area(areas=("contrib.framework.nest",)),
    "examples.tutorials.mnist.input_data": Area((mnist,)),
    "examples.tutorials.mnist.mnist": Area((mnist_model,)),
}
