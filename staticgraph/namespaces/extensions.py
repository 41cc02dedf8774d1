"""Modules that lower layers reach by name: extensions of their classes, methods of tensors, and ops in files.

They are imported when a name is first used. A file of a graph only chooses among these ops.
"""

from __future__ import annotations

from staticgraph.compiler.graph.opdef import METHODS, OPS
from staticgraph.compiler.support.lazy_names import EXTENSIONS

_TOP = "staticgraph"

# What lower layers call.
_EXTENSIONS = {
    "differentiation.gradient_registry": "with_registered_gradient",
    "formats.contents": "contents",
    "formats.functions": "functions_of",
    "formats.tf.graph_def.export": "as_graph_def graph_def_versions",
    "formats.tf.graph_def.operation_view": "attribute inputs node_def",
    "formats.tf.meta_graph.collections": "variable_def",
    "runtime.debug.crash_file": "write_crash_dump",
    "state.counting": "count_up_to",
    "tf1.compat.areas": "public_names",
    "tf1.keras.saving.opened": "keras_function",
    "tf1.keras.state": "keras_session",
    "tf1.summary.opened": "graph_of_events",
}

# Methods of tensors that are not single ops.
_METHODS = {
    "namespaces.methods": (
        "argmax argmin argsort astype boolean_mask clip copy cumprod cumsum dot round sort std take trace var"
    ),
}

# Ops of the host that a file may have.
_OPS = {
    "domains.image.file_ops": (
        "adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png "
        "encode_jpeg encode_png extract_jpeg_shape is_jpeg"
    ),
    "formats.tf.examples.example_ops": (
        "parse_example_op parse_sequence_example_op parse_single_example_op parse_single_sequence_example_op"
    ),
    "tf1.io.sparse_tensors": "deserialize_many_sparse_op serialize_many_sparse_op serialize_sparse_op",
    "tf1.io.tensors": "parse_tensor_op serialize_tensor_op",
    "sparse.crossing": "cross_op",
    "state.counting": "count_below",
    "state.variable_lists": "rank_of_read",
    "tf1.feature_column.vocabulary": "place_in_vocabulary",
    "tf1.summary.ops": (
        "audio_summary histogram_summary image_summary merge_summary scalar_summary tensor_summary_v2"
    ),
    "tf1.training.input_producers": "some_names",
}


def install() -> None:
    """Let the lower layers find these modules."""
    EXTENSIONS.found_in(_TOP, _EXTENSIONS)
    METHODS.found_in(_TOP, _METHODS)
    OPS.found_in(_TOP, _OPS, listed=False)
