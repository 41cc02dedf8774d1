"""`tensorflow.python.*` and `tensorflow.examples.*`: internal modules that programs import nevertheless.

Each shows the public names of the area that it implemented: more names than TF1's had, but none of those that
are supported is missing where TF1 had defined it.
"""

from staticgraph.compat.legacy import devices, logging, mnist, strings, test_util
from staticgraph.compat.namespace import Area

# Package, the areas whose names its modules show (`tf` is the root), and the modules.
_MODULES = (
    ("client", "tf", "client session"),
    ("eager", "tf", "backprop context"),
    ("framework", "dtypes tf", "dtypes"),
    ("framework", "errors", "errors errors_impl"),
    ("framework", "graph_util", "graph_util"),
    ("framework", "random tf", "random_seed"),
    ("framework", "tf", "constant_op function importer load_library ops sparse_tensor tensor_shape"),
    ("framework", "train", "graph_io"),
    ("layers", "layers", "base convolutional core layers normalization pooling"),
    ("lib.io", "python_io", "tf_record"),
    ("ops", "bitwise", "bitwise_ops"),
    ("ops", "debugging tf", "check_ops"),
    ("ops", "image", "image_ops"),
    ("ops", "initializers tf", "init_ops"),
    ("ops", "io tf", "io_ops parsing_ops"),
    ("ops", "linalg tf", "linalg_ops"),
    ("ops", "lookup tf", "lookup_ops"),
    ("ops", "math linalg tf", "gen_math_ops math_ops special_math_ops"),
    ("ops", "metrics", "metrics"),
    ("ops", "nn", "ctc_ops embedding_ops gen_nn_ops nn nn_grad nn_impl nn_ops rnn"),
    ("ops", "nn.rnn_cell", "rnn_cell rnn_cell_impl"),
    ("ops", "random tf", "random_ops"),
    ("ops", "signal", "spectral_ops"),
    ("ops", "sparse tf", "sparse_ops"),
    ("ops", "strings tf", "string_ops"),
    ("ops", "summary", "summary_ops"),
    ("ops", "tf", "array_ops clip_ops confusion_matrix control_flow_ops custom_gradient data_flow_ops"),
    ("ops", "tf", "functional_ops gen_array_ops gen_state_ops gradients gradients_impl histogram_ops"),
    ("ops", "tf", "inplace_ops logging_ops map_fn numerics partitioned_variables resource_variable_ops"),
    ("ops", "tf", "script_ops session_ops sort_ops standard_ops state_ops template tensor_array_ops"),
    ("ops", "tf", "variable_scope variables"),
    ("ops.distributions", "distributions", "distributions normal"),
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
    ("training", "train", "adadelta adagrad adagrad_da adam basic_session_run_hooks checkpoint_management"),
    ("training", "train", "checkpoint_utils coordinator ftrl gradient_descent input learning_rate_decay"),
    ("training", "train", "learning_rate_decay_v2 momentum monitored_session moving_averages optimizer"),
    ("training", "train", "proximal_adagrad proximal_gradient_descent queue_runner queue_runner_impl"),
    ("training", "train", "rmsprop saver session_manager session_run_hook supervisor training"),
    ("training", "train", "sync_replicas_optimizer training_ops training_util"),
)

AREAS = {
    f"python.{package}.{module}": Area(areas=tuple("" if area == "tf" else area for area in areas.split()))
    for package, areas, modules in _MODULES
    for module in modules.split()
} | {
    "python.client.device_lib": Area((devices,)),
    "python.framework.test_util": Area((test_util,), areas=("test",)),
    "python.keras": Area(areas=("keras",)),
    "python.lib.io.file_io": Area(areas=("io.file_io",)),
    "python.platform.tf_logging": Area((logging,)),
    "python.util.compat": Area((strings,)),
    "python.util.nest": Area(areas=("nest",)),
    "examples.tutorials.mnist.input_data": Area((mnist,)),
}
