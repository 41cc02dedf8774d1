"""Names of `sg` that are imported when they are first used: which module of this package has which.

`new=old` is a name that is `old` in its module. The modules of `public_paths` are found likewise.

Lower layers reach other modules by name, too: extensions of their classes, methods of tensors, and ops in
files. They are imported when a name is first used. A file of a graph only chooses among these ops.
"""

from __future__ import annotations

from staticgraph.compiler.graph.opdef import METHODS, OPS
from staticgraph.compiler.support.lazy_names import EXTENSIONS

NAMES = {
    "staticgraph.arrays.array_ops": (
        "broadcast_dynamic_shape broadcast_static_shape broadcast_to concat ensure_shape expand_dims pad "
        "parallel_stack rank repeat reshape reverse reverse_sequence reverse_v2 roll shape shape_n size "
        "split squeeze stack tile transpose unstack"
    ),
    "staticgraph.arrays.casts": (
        "bitcast cast saturate_cast to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 "
        "to_int64"
    ),
    "staticgraph.arrays.creation": (
        "diag diag_part eye fill lin_space linspace matrix_band_part matrix_diag matrix_diag_part "
        "matrix_set_diag meshgrid ones ones_like range zeros zeros_like"
    ),
    "staticgraph.arrays.indexed_slices": "convert_to_tensor_or_indexed_slices IndexedSlices",
    "staticgraph.arrays.indexing": (
        "batch_gather boolean_mask dynamic_partition dynamic_stitch gather gather_nd invert_permutation "
        "newaxis one_hot scatter_nd sequence_mask setdiff1d slice strided_slice tensor_scatter_add "
        "tensor_scatter_nd_add tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_sub "
        "tensor_scatter_update unique unique_with_counts unravel_index where where_v2"
    ),
    "staticgraph.arrays.sorting": "arg_max arg_min argmax argmin argsort cumprod cumsum searchsorted sort",
    "staticgraph.arrays.space": (
        "batch_to_space batch_to_space_nd depth_to_space extract_image_patches extract_volume_patches "
        "required_space_to_batch_paddings space_to_batch space_to_batch_nd space_to_depth"
    ),
    "staticgraph.building.conversion": "convert_to_tensor",
    "staticgraph.building.interactive_session": "InteractiveSession",
    "staticgraph.building.options": "options",
    "staticgraph.building.script_ops": "numpy_function py_func py_function",
    "staticgraph.compiler.graph.recording.calls": "register_tensor_conversion_function",
    "staticgraph.building.sizes": "dimension_at_index dimension_value get_static_value",
    "staticgraph.control_flow.assertions": "Assert",
    "staticgraph.control_flow.branches": "case cond switch_case",
    "staticgraph.control_flow.functional": "foldl foldr map_fn scan",
    "staticgraph.control_flow.loops": "while_loop",
    "staticgraph.control_flow.tensor_array": "TensorArray",
    "staticgraph.debugging.comparisons": (
        "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
        "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive"
    ),
    "staticgraph.debugging.numerics": (
        "add_check_numerics_ops assert_all_finite check_numerics verify_tensor_all_finite"
    ),
    "staticgraph.debugging.printing": "Print print",
    "staticgraph.debugging.shapes": (
        "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_shapes"
    ),
    "staticgraph.debugging.types": (
        "assert_integer assert_proper_iterable assert_same_float_dtype assert_type is_numeric_tensor "
        "is_tensor"
    ),
    "staticgraph.differentiation.custom_gradient": "custom_gradient grad_pass_through",
    "staticgraph.differentiation.gradient_registry": "NoGradient NotDifferentiable RegisterGradient",
    "staticgraph.differentiation.gradients": (
        "AggregationMethod gradients hessians UnconnectedGradients why_no_gradient"
    ),
    "staticgraph.draw": "visualize",
    "staticgraph.draw.page": "show",
    "staticgraph.formats.tf.graph_util": "import_graph_def",
    "staticgraph.formats.tf.messages": "ConfigProto RunMetadata RunOptions",
    "staticgraph.linear_algebra.linalg": (
        "cholesky cholesky_solve cross matrix_determinant=det matrix_inverse=inv matrix_solve=solve "
        "matrix_solve_ls=lstsq matrix_transpose matrix_triangular_solve=triangular_solve norm qr "
        "self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh svd trace"
    ),
    "staticgraph.mathematics.clip": "clip_by_average_norm clip_by_global_norm clip_by_norm global_norm",
    "staticgraph.mathematics.math_ops": (
        "abs accumulate_n acos acosh add add_n angle asin asinh atan atan2 atanh bessel_i0 bessel_i0e "
        "bessel_i1 bessel_i1e betainc ceil clip_by_value complex conj cos cosh digamma div div_no_nan divide "
        "divide_no_nan equal erf erfc exp expm1 floor floor_div floordiv floormod greater greater_equal "
        "igamma igammac imag is_finite is_inf is_nan is_non_decreasing is_strictly_increasing lbeta less "
        "less_equal lgamma log log1p logical_and logical_not logical_or logical_xor maximum minimum mod "
        "multiply multiply_no_nan negative nextafter not_equal polygamma polyval pow real realdiv reciprocal "
        "reciprocal_no_nan rint round rsqrt scalar_mul sign sin sinh sqrt square squared_difference subtract "
        "tan tanh truediv truncatediv truncatemod xdivy xlogy zeta"
    ),
    "staticgraph.mathematics.products": "einsum matmul tensordot",
    "staticgraph.mathematics.reductions": (
        "count_nonzero reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean "
        "reduce_min reduce_prod reduce_std reduce_sum reduce_variance"
    ),
    "staticgraph.mathematics.segments": (
        "bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins segment_max segment_mean "
        "segment_min segment_prod segment_sum unsorted_segment_max unsorted_segment_mean "
        "unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum"
    ),
    "staticgraph.mathematics.sparse_segments": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
    "staticgraph.nn.activation": "log_sigmoid sigmoid",
    "staticgraph.domains.ragged.tensor": "RaggedTensor",
    "staticgraph.random_numbers.random_ops": (
        "categorical multinomial random_crop random_normal random_shuffle random_uniform truncated_normal"
    ),
    "staticgraph.random_numbers.rejection": "random_gamma random_poisson",
    "staticgraph.runtime.cpu.threads": "get_num_threads set_num_threads",
    "staticgraph.saved.saving": "inspect load LoadedGraph save Signature",
    "staticgraph.saved.weights": "load_weights read_weights save_weights",
    "staticgraph.sparse.names": (
        "convert_to_tensor_or_sparse_tensor edit_distance sparse_add sparse_concat sparse_fill_empty_rows "
        "sparse_mask sparse_maximum sparse_merge sparse_minimum sparse_placeholder sparse_reduce_max "
        "sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_reorder "
        "sparse_reset_shape sparse_reshape sparse_retain sparse_slice sparse_softmax sparse_split "
        "sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_dense sparse_to_indicator "
        "sparse_transpose SparseTensor SparseTensorValue"
    ),
    "staticgraph.state.counting": "count_up_to",
    "staticgraph.state.creators": "variable_creator_scope",
    "staticgraph.state.initializers": (
        "constant_initializer=Constant glorot_normal_initializer=GlorotNormal "
        "glorot_uniform_initializer=GlorotUniform ones_initializer=Ones orthogonal_initializer=Orthogonal "
        "random_normal_initializer=RandomNormal random_uniform_initializer=RandomUniform "
        "truncated_normal_initializer=TruncatedNormal uniform_unit_scaling_initializer=UniformUnitScaling "
        "variance_scaling_initializer=VarianceScaling zeros_initializer=Zeros"
    ),
    "staticgraph.state.partitioners": (
        "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner "
        "variable_axis_size_partitioner"
    ),
    "staticgraph.state.replicas": "VariableAggregation VariableSynchronization",
    "staticgraph.state.scopes": (
        "get_local_variable get_variable get_variable_scope variable_op_scope variable_scope VariableScope"
    ),
    "staticgraph.state.state_ops": (
        "assign assign_add assign_sub batch_scatter_update scatter_add scatter_div scatter_max scatter_min "
        "scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
    ),
    "staticgraph.state.store": "AUTO_REUSE no_regularizer",
    "staticgraph.state.template": "make_template",
    "staticgraph.state.variable_lists": (
        "all_variables assert_variables_initialized global_variables global_variables_initializer "
        "initialize_all_variables initialize_local_variables initialize_variables is_variable_initialized "
        "local_variables local_variables_initializer model_variables moving_average_variables "
        "report_uninitialized_variables trainable_variables variables_initializer"
    ),
    "staticgraph.state.variables": "Variable",
    "staticgraph.tf1.io.readers": (
        "FixedLengthRecordReader IdentityReader ReaderBase TextLineReader TFRecordReader WholeFileReader"
    ),
    "staticgraph.tf1.io.whole_files": "matching_files read_file write_file",
    "staticgraph.tf1.lookup.tables": "tables_initializer",
    "staticgraph.tf1.queue.accumulators": (
        "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator"
    ),
    "staticgraph.tf1.queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "staticgraph.tf1.summary.points": "watch",
}


_TOP = "staticgraph"

# What lower layers call.
_EXTENSIONS = {
    "differentiation.gradient_registry": "with_registered_gradient",
    "formats.contents": "contents",
    "formats.functions": "functions_of",
    "formats.tf.graph_def.export": "as_graph_def graph_def_versions",
    "formats.tf.graph_def.operation_view": "attribute inputs node_def",
    "formats.tf.messages.tensors": "shape_proto",
    "formats.tf.meta_graph.collections": "variable_def",
    "runtime.debug.crash_file": "write_crash_dump",
    "state.counting": "count_up_to",
    "state.creators": "created_variable",
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
    "tf1.io.sounds": "decode_wav_op encode_wav_op",
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


def tell_lower_layers() -> None:
    """Let the lower layers find the modules that they reach by name."""
    EXTENSIONS.found_in(_TOP, _EXTENSIONS)
    METHODS.found_in(_TOP, _METHODS)
    OPS.found_in(_TOP, _OPS, listed=False)
