"""Modules that declare the ops: which file has which, so that a file is imported when it is needed."""

# The ops by the file in this folder that declares them.
OPS_OF = {
    "arrays.assembly": "concat stack pad pad_v2 interior_pad interleave mirror_pad",
    "arrays.broadcasting": "broadcast_to broadcast_args broadcast_gradient_args",
    "arrays.creation": "fill extents unset zeros_like ones_like range range_count lin_space",
    "arrays.diagonal": "diag diag_part matrix_diag matrix_diag_part matrix_set_diag matrix_band_part",
    "arrays.gathering": "gather gather_nd one_hot",
    "arrays.indexing": "pick",
    "arrays.movement": (
        "reshape inferred_size transpose expand_dims squeeze tile reverse roll reverse_sequence"
    ),
    "arrays.rows": "row_update row_add",
    "arrays.scatter": (
        "gather_grad scatter_nd tensor_scatter_add tensor_scatter_sub tensor_scatter_update "
        "invert_permutation"
    ),
    "arrays.slicing": "slice strided_slice split split_v unstack",
    "arrays.space": "space_to_depth depth_to_space space_to_batch_nd batch_to_space_nd",
    "arrays.tensor_arrays": "tensor_array tensor_array_write tensor_array_scatter tensor_array_grow",
    "arrays.variable_rows": (
        "scatter_update scatter_nd_update scatter_add scatter_nd_add scatter_sub scatter_nd_sub "
        "scatter_mul scatter_div scatter_min scatter_max"
    ),
    "control.collectives": "all_reduce all_gather reduce_scatter broadcast all_to_all worker_rank",
    "control.control_flow": "region_parameter while_region branch_region loop branch",
    "control.effects": "assert_true print_values print_line check_numerics effect",
    "control.host": "py_func py_func_stateless",
    "control.state": "assign assign_add assign_sub is_variable_initialized",
    "derivatives.gradient_nodes": (
        "relu_grad relu6_grad elu_grad selu_grad softsign_grad leaky_relu_grad sigmoid_grad "
        "tanh_grad sqrt_grad rsqrt_grad reciprocal_grad bias_add_grad"
    ),
    "derivatives.gradients_by_place": (

        "max_pool_backprop max_pool3d_backprop lrn_grad strided_slice_grad mirror_pad_grad"
    ),
    "derivatives.user_gradients": "custom_gradient custom_vjp undefined_gradient cotangent",
    "elementwise.activation": "relu relu6 leaky_relu elu selu softplus softsign sigmoid",
    "elementwise.arithmetic": (
        "add subtract multiply multiply_no_nan fma add_n negative abs sign square squared_difference "
        "maximum minimum copysign"
    ),
    "elementwise.bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "elementwise.casting": "cast bitcast",
    "elementwise.complex_numbers": "complex conj real imag angle complex_abs",
    "elementwise.division": "realdiv div_no_nan floor_div floormod truncatediv truncatemod",
    "elementwise.exponential": "reciprocal sqrt rsqrt exp expm1 log log1p pow xlogy xdivy",
    "elementwise.identities": "identity_n ensure_shape barrier",
    "elementwise.incomplete": (
        "zeta polygamma igamma_grad_a igamma igammac random_gamma_grad betainc bessel_i0e bessel_i1e "
        "nextafter"
    ),
    "elementwise.logic": (
        "equal not_equal less less_equal greater greater_equal is_nan is_inf is_finite "
        "logical_and logical_or logical_not select select_rows"
    ),
    "elementwise.rounding": "floor ceil rint round",
    "elementwise.special": "erf erfc trigamma digamma lgamma",
    "elementwise.trigonometric": "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2",
    "fourier.open_lengths": "open_fft open_rfft open_irfft",
    "fourier.open_planes": "open_fft_planes",
    "fourier.open_real_planes": "open_irfft_planes open_rfft_planes",
    "fourier.real_rows": "rfft_rows irfft_rows",
    "fourier.rows": "fft_columns",
    "fourier.stages": "fft_stage real_spectrum paired_spectrum",
    "fourier.transforms": "fft fft2d fft3d ifft ifft2d ifft3d rfft rfft2d rfft3d irfft irfft2d irfft3d",
    "linear_algebra.decompositions": "square_svd svd self_adjoint_eig pseudo_inverse",
    "linear_algebra.factors": (

        "cholesky triangular_solution unit_lower_inverse matrix_triangular_solve lu small_cofactors"
    ),
    "linear_algebra.lapack": (
        "matrix_inverse matrix_cofactors matrix_determinant log_matrix_determinant "
        "matrix_solve"
    ),
    "linear_algebra.matrix_functions": "matrix_exponential tridiagonal_solve",
    "linear_algebra.matrix_roots": "complex_square_root complex_sylvester matrix_square_root sylvester",
    "linear_algebra.orthogonal": "qr",
    "linear_algebra.products": "matmul batch_matmul bias_add cross",
    "linear_algebra.summation": "einsum",
    "neural.convolution": "conv_windows conv_filter conv_spread",
    "neural.convolution_layers": (
        "conv2d conv2d_backprop_input conv2d_backprop_filter conv3d conv3d_backprop_input "
        "conv3d_backprop_filter depthwise_conv2d_native depthwise_conv2d_native_backprop_input "
        "depthwise_conv2d_native_backprop_filter"
    ),
    "neural.cropping": "crop_and_resize",
    "neural.ctc": "ctc_greedy_decoder ctc_beam_search_decoder",
    "neural.loss": "softmax_cross_entropy sparse_softmax_cross_entropy",
    "neural.max_pool_gradient": "max_pool_first max_unpool max_pool_pick max_pool_number max_pool_grad",
    "neural.morphology": "dilation2d",
    "neural.normalization": "softmax log_softmax band_sum local_response_normalization fused_batch_norm",
    "neural.patches": "extract_image_patches extract_volume_patches",
    "neural.pooling": (

        "max_pool max_pool3d avg_pool avg_pool_grad avg_pool3d avg_pool3d_grad max_pool_with_argmax"
    ),
    "neural.resize": "resize_nearest_neighbor resize_bilinear resize_bicubic resize_area",
    "neural.tile_transform": "tile_transform",
    "ordering.distinct": "distinct_numbers absent_numbers",
    "ordering.ordered_values": "top_values",
    "ordering.positions": "true_positions grouped_positions",
    "ordering.searching": "lower_bound upper_bound unravel_index",
    "ordering.selection": "where unique unique_with_counts setdiff1d partition_places stitch_sources",
    "ordering.set_operations": "set_operation set_size",
    "ordering.sorting": "top_k nth_element in_top_k argmax argmin",
    "ordering.sparse": "row_major_order ascending_places",
    "random_numbers.candidate_samplers": (
        "log_uniform_candidate_sampler uniform_candidate_sampler fixed_unigram_candidate_sampler"
    ),
    "random_numbers.distorted_boxes": "sample_distorted_bounding_box crops_possible",
    "random_numbers.drawn_classes": "log_uniform_classes uniform_classes classes_by_table",
    "random_numbers.positions": "multinomial random_permutation random_shuffle",
    "random_numbers.random": (
        "random_uniform random_standard_normal truncated_normal random_uniform_int"
    ),
    "random_numbers.rejection": "random_gamma random_poisson",
    "random_numbers.stateless": (
        "stateless_state stateless_random_uniform stateless_random_normal stateless_truncated_normal "
        "stateless_random_uniform_int stateless_multinomial"
    ),
    "reductions.reduce": (
        "reduce_sum reduce_prod reduce_max reduce_min reduce_any reduce_all reduce_mean euclidean_norm "
        "l2_loss"
    ),
    "reductions.scan": "cumsum cumprod linear_recurrence cumulative_logsumexp",
    "reductions.segment": (
        "unsorted_segment_sum unsorted_segment_prod unsorted_segment_max unsorted_segment_min bincount"
    ),
    "reductions.sorted_segments": (
        "segment_sum segment_prod segment_max segment_min segment_mean segment_count"
    ),
    "text.decoding": "decode_raw decode_csv decode_compressed",
    "text.distances": "edit_distance",
    "text.ngrams": "string_n_grams",
    "text.string_hashes": "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong",
    "text.string_parts": (
        "string_split string_split_v2 reduce_join unsorted_segment_join string_format unicode_transcode "
        "unicode_decode_with_offsets unicode_encode"
    ),
    "text.strings": (
        "string_lower string_upper string_strip string_length substr string_join as_string "
        "string_to_number encode_base64 decode_base64 static_regex_replace regex_replace "
        "static_regex_full_match regex_full_match"
    ),
    "training.adam": "apply_adam apply_ada_max",
    "training.adaptive": "apply_adagrad apply_adadelta apply_rms_prop apply_centered_rms_prop",
    "training.descent": "apply_gradient_descent apply_momentum",
    "training.elements": "decayed decaying_total moving_average scaled_descent",
    "training.leaders": "apply_adagrad_da apply_ftrl apply_ftrl_v2",
    "training.penalties": "apply_proximal_gradient_descent apply_proximal_adagrad",
    "training.rows": (
        "sparse_apply_momentum sparse_apply_adagrad sparse_apply_adagrad_da sparse_apply_adadelta "
        "sparse_apply_rms_prop sparse_apply_centered_rms_prop sparse_apply_ftrl sparse_apply_ftrl_v2 "
        "sparse_apply_proximal_gradient_descent sparse_apply_proximal_adagrad"
    ),
    "training.signs": "apply_add_sign apply_power_sign",
    "requirements": (
        "in_range coordinates_in_range nonzero is_permutation is_sorted steps_lead rows_ascend below at_most "
        "factor_positive factor_nonzero decomposable"
    ),
    "structural": (
        "constant parameter placeholder placeholder_with_default variable read_variable read_value "
        "initialized_value report_uninitialized identity stop_gradient stationary vanishing no_op watch "
        "reads_of override seed symbolic_gradients shape_of size_of rank_of"
    ),
}

# The scalar primitives that an op of the file applies to every element.
PRIMITIVES_OF = {
    "elementwise.arithmetic": "add sub mul fma neg abs maximum minimum copysign",
    "elementwise.bitwise": "and or xor invert shl shr",
    "elementwise.casting": "cast bitcast",
    "elementwise.complex_numbers": "complex real imag",
    "elementwise.division": "div floordiv floormod truncdiv truncmod",
    "elementwise.exponential": "sqrt exp expm1 log log1p pow",
    "elementwise.incomplete": "bessel_i0e bessel_i1e",
    "elementwise.logic": "eq ne lt le gt ge select",
    "elementwise.rounding": "floor ceil rint",
    "elementwise.special": "erf erfc digamma lgamma",
    "elementwise.trigonometric": "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2",
}

# The operators and methods of tensors that the file implements.
METHODS_OF = {
    "arrays.assembly": "stack",
    "arrays.indexing": "getitem",
    "arrays.movement": "reshape transpose flatten ravel squeeze swapaxes",
    "elementwise.arithmetic": "add sub mul neg abs",
    "elementwise.bitwise": "lshift rshift",
    "elementwise.division": "truediv floordiv mod",
    "elementwise.exponential": "pow",
    "elementwise.logic": "lt le gt ge and or xor invert",
    "linear_algebra.products": "matmul",
    "reductions.reduce": "sum prod max min mean any all",
}
