"""Public names. Made by tools/type_stubs.py."""

from staticgraph import (
    compiler as compiler,
    debugging as debugging,
    distribute as distribute,
    layers as layers,
    linear_algebra as _linalg,
    nn as nn,
    runtime as runtime,
    sparse as sparse,
    train as train,
)
from staticgraph.arrays.array_ops import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    concat as concat,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    pad as pad,
    parallel_stack as parallel_stack,
    rank as rank,
    repeat as repeat,
    reshape as reshape,
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    reverse_v2 as reverse_v2,
    roll as roll,
    shape as shape,
    shape_n as shape_n,
    size as size,
    split as split,
    squeeze as squeeze,
    stack as stack,
    tile as tile,
    transpose as transpose,
    unstack as unstack,
)
from staticgraph.arrays.casts import (
    bitcast as bitcast,
    cast as cast,
    saturate_cast as saturate_cast,
    to_bfloat16 as to_bfloat16,
    to_complex128 as to_complex128,
    to_complex64 as to_complex64,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
)
from staticgraph.arrays.creation import (
    diag as diag,
    diag_part as diag_part,
    eye as eye,
    fill as fill,
    lin_space as lin_space,
    linspace as linspace,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    range as range,
    zeros as zeros,
    zeros_like as zeros_like,
)
from staticgraph.arrays.indexed_slices import (
    IndexedSlices as IndexedSlices,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from staticgraph.arrays.indexing import (
    batch_gather as batch_gather,
    boolean_mask as boolean_mask,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    gather as gather,
    gather_nd as gather_nd,
    invert_permutation as invert_permutation,
    newaxis as newaxis,
    one_hot as one_hot,
    scatter_nd as scatter_nd,
    sequence_mask as sequence_mask,
    setdiff1d as setdiff1d,
    slice as slice,
    strided_slice as strided_slice,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
    unique as unique,
    unique_with_counts as unique_with_counts,
    unravel_index as unravel_index,
    where as where,
    where_v2 as where_v2,
)
from staticgraph.arrays.sorting import (
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    cumprod as cumprod,
    cumsum as cumsum,
    searchsorted as searchsorted,
    sort as sort,
)
from staticgraph.arrays.space import (
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    depth_to_space as depth_to_space,
    extract_image_patches as extract_image_patches,
    extract_volume_patches as extract_volume_patches,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    space_to_depth as space_to_depth,
)
from staticgraph.building import (
    nest as nest,
)
from staticgraph.building.conversion import (
    convert_to_tensor as convert_to_tensor,
)
from staticgraph.building.framework import (
    Graph as Graph,
    GraphKeys as GraphKeys,
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    get_default_graph as get_default_graph,
    get_seed as get_seed,
    init_scope as init_scope,
    name_scope as name_scope,
    op_scope as op_scope,
    reset_default_graph as reset_default_graph,
    set_random_seed as set_random_seed,
)
from staticgraph.building.inputs import (
    constant as constant,
    group as group,
    identity as identity,
    identity_n as identity_n,
    no_op as no_op,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
    stop_gradient as stop_gradient,
    tuple as tuple,
)
from staticgraph.building.interactive_session import (
    InteractiveSession as InteractiveSession,
)
from staticgraph.building.options import (
    options as options,
)
from staticgraph.building.script_ops import (
    numpy_function as numpy_function,
    py_func as py_func,
    py_function as py_function,
)
from staticgraph.building.sizes import (
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
    get_static_value as get_static_value,
)
from staticgraph.compiler.graph import (
    errors as errors,
)
from staticgraph.compiler.graph.dtypes import (
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool_ as _bool,
    complex128 as complex128,
    complex64 as complex64,
    float64 as _double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float16 as _half,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    string as string,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
)
from staticgraph.compiler.graph.recording.calls import (
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from staticgraph.compiler.graph.shapes import (
    Dimension as Dimension,
    TensorShape as TensorShape,
)
from staticgraph.compiler.graph.tensor import (
    Operation as Operation,
    Tensor as Tensor,
)
from staticgraph.control_flow.assertions import (
    Assert as Assert,
)
from staticgraph.control_flow.branches import (
    case as case,
    cond as cond,
    switch_case as switch_case,
)
from staticgraph.control_flow.functional import (
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
    scan as scan,
)
from staticgraph.control_flow.loops import (
    while_loop as while_loop,
)
from staticgraph.control_flow.tensor_array import (
    TensorArray as TensorArray,
)
from staticgraph.debugging.comparisons import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
)
from staticgraph.debugging.numerics import (
    add_check_numerics_ops as add_check_numerics_ops,
    assert_all_finite as assert_all_finite,
    check_numerics as check_numerics,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from staticgraph.debugging.printing import (
    Print as Print,
    print as print,
)
from staticgraph.debugging.shapes import (
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
    assert_shapes as assert_shapes,
)
from staticgraph.debugging.types import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
    is_tensor as is_tensor,
)
from staticgraph.differentiation.custom_gradient import (
    custom_gradient as custom_gradient,
    grad_pass_through as grad_pass_through,
)
from staticgraph.differentiation.gradient_registry import (
    NoGradient as NoGradient,
    NotDifferentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
)
from staticgraph.differentiation.gradients import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
    hessians as hessians,
    why_no_gradient as why_no_gradient,
)
from staticgraph.domains import (
    image as image,
    ragged as ragged,
    signal as signal,
    strings as strings,
)
from staticgraph.domains.ragged.tensor import (
    RaggedTensor as RaggedTensor,
)
from staticgraph.draw import (
    visualize as visualize,
)
from staticgraph.draw.page import (
    show as show,
)
from staticgraph.formats import (
    onnx as onnx,
)
from staticgraph.formats.tf import (
    graph_def as graph_def,
    graph_util as graph_util,
    messages as messages,
    saved_model as saved_model,
)
from staticgraph.formats.tf.graph_util import (
    import_graph_def as import_graph_def,
)
from staticgraph.formats.tf.messages import (
    ConfigProto as ConfigProto,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from staticgraph.linear_algebra.linalg import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    cross as cross,
    det as _matrix_determinant,
    inv as _matrix_inverse,
    solve as _matrix_solve,
    lstsq as _matrix_solve_ls,
    matrix_transpose as matrix_transpose,
    triangular_solve as _matrix_triangular_solve,
    norm as norm,
    qr as qr,
    eigh as _self_adjoint_eig,
    eigvalsh as _self_adjoint_eigvals,
    svd as svd,
    trace as trace,
)
from staticgraph.mathematics.clip import (
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    global_norm as global_norm,
)
from staticgraph.mathematics.math_ops import (
    abs as abs,
    accumulate_n as accumulate_n,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    angle as angle,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bessel_i0 as bessel_i0,
    bessel_i0e as bessel_i0e,
    bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
    betainc as betainc,
    ceil as ceil,
    clip_by_value as clip_by_value,
    complex as complex,
    conj as conj,
    cos as cos,
    cosh as cosh,
    digamma as digamma,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    divide_no_nan as divide_no_nan,
    equal as equal,
    erf as erf,
    erfc as erfc,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    greater as greater,
    greater_equal as greater_equal,
    igamma as igamma,
    igammac as igammac,
    imag as imag,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
    lbeta as lbeta,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    log as log,
    log1p as log1p,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    polygamma as polygamma,
    polyval as polyval,
    pow as pow,
    real as real,
    realdiv as realdiv,
    reciprocal as reciprocal,
    reciprocal_no_nan as reciprocal_no_nan,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    scalar_mul as scalar_mul,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
    xdivy as xdivy,
    xlogy as xlogy,
    zeta as zeta,
)
from staticgraph.mathematics.products import (
    einsum as einsum,
    matmul as matmul,
    tensordot as tensordot,
)
from staticgraph.mathematics.reductions import (
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
)
from staticgraph.mathematics.segments import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from staticgraph.mathematics.sparse_segments import (
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from staticgraph.namespaces import (
    bitwise as bitwise,
    math as math,
    random as random,
)
from staticgraph.nn.activation import (
    log_sigmoid as log_sigmoid,
    sigmoid as sigmoid,
)
from staticgraph.random_numbers.random_ops import (
    categorical as categorical,
    multinomial as multinomial,
    random_crop as random_crop,
    random_normal as random_normal,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from staticgraph.random_numbers.rejection import (
    random_gamma as random_gamma,
    random_poisson as random_poisson,
)
from staticgraph.runtime.cpu.threads import (
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)
from staticgraph.runtime.session import (
    Session as Session,
    default_session as _get_default_session,
)
from staticgraph.saved.saving import (
    LoadedGraph as LoadedGraph,
    Signature as Signature,
    inspect as inspect,
    load as load,
    save as save,
)
from staticgraph.saved.weights import (
    load_weights as load_weights,
    read_weights as read_weights,
    save_weights as save_weights,
)
from staticgraph.sparse import (
    sets as sets,
)
from staticgraph.sparse.names import (
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    edit_distance as edit_distance,
    sparse_add as sparse_add,
    sparse_concat as sparse_concat,
    sparse_fill_empty_rows as sparse_fill_empty_rows,
    sparse_mask as sparse_mask,
    sparse_maximum as sparse_maximum,
    sparse_merge as sparse_merge,
    sparse_minimum as sparse_minimum,
    sparse_placeholder as sparse_placeholder,
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
    sparse_reorder as sparse_reorder,
    sparse_reset_shape as sparse_reset_shape,
    sparse_reshape as sparse_reshape,
    sparse_retain as sparse_retain,
    sparse_slice as sparse_slice,
    sparse_softmax as sparse_softmax,
    sparse_split as sparse_split,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
    sparse_to_dense as sparse_to_dense,
    sparse_to_indicator as sparse_to_indicator,
    sparse_transpose as sparse_transpose,
)
from staticgraph.state import (
    initializers as initializers,
)
from staticgraph.state.counting import (
    count_up_to as count_up_to,
)
from staticgraph.state.creators import (
    variable_creator_scope as variable_creator_scope,
)
from staticgraph.state.initializers import (
    Constant as _constant_initializer,
    GlorotNormal as _glorot_normal_initializer,
    GlorotUniform as _glorot_uniform_initializer,
    Ones as _ones_initializer,
    Orthogonal as _orthogonal_initializer,
    RandomNormal as _random_normal_initializer,
    RandomUniform as _random_uniform_initializer,
    TruncatedNormal as _truncated_normal_initializer,
    UniformUnitScaling as _uniform_unit_scaling_initializer,
    VarianceScaling as _variance_scaling_initializer,
    Zeros as _zeros_initializer,
)
from staticgraph.state.partitioners import (
    create_partitioned_variables as create_partitioned_variables,
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from staticgraph.state.replicas import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
)
from staticgraph.state.scopes import (
    VariableScope as VariableScope,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
    get_variable_scope as get_variable_scope,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from staticgraph.state.state_ops import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    batch_scatter_update as batch_scatter_update,
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from staticgraph.state.store import (
    AUTO_REUSE as AUTO_REUSE,
    no_regularizer as no_regularizer,
)
from staticgraph.state.template import (
    make_template as make_template,
)
from staticgraph.state.variable_lists import (
    all_variables as all_variables,
    assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    is_variable_initialized as is_variable_initialized,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from staticgraph.state.variables import (
    Variable as Variable,
)
from staticgraph.tf1 import (
    compat as compat,
    contrib as contrib,
    data as data,
    distributions as distributions,
    estimator as estimator,
    feature_column as feature_column,
    io as io,
    keras as keras,
    lookup as lookup,
    metrics as metrics,
    python_io as python_io,
    queue as queue,
    spectral as spectral,
    summary as summary,
)
from staticgraph.tf1.io.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    ReaderBase as ReaderBase,
    TFRecordReader as TFRecordReader,
    TextLineReader as TextLineReader,
    WholeFileReader as WholeFileReader,
)
from staticgraph.tf1.io.whole_files import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from staticgraph.tf1.lookup.tables import (
    tables_initializer as tables_initializer,
)
from staticgraph.tf1.queue import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from staticgraph.tf1.queue.accumulators import (
    ConditionalAccumulator as ConditionalAccumulator,
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from staticgraph.tf1.summary.points import (
    watch as watch,
)
from staticgraph.train import (
    losses as losses,
)

bool = _bool
constant_initializer = _constant_initializer
double = _double
get_default_session = _get_default_session
glorot_normal_initializer = _glorot_normal_initializer
glorot_uniform_initializer = _glorot_uniform_initializer
half = _half
linalg = _linalg
matrix_determinant = _matrix_determinant
matrix_inverse = _matrix_inverse
matrix_solve = _matrix_solve
matrix_solve_ls = _matrix_solve_ls
matrix_triangular_solve = _matrix_triangular_solve
ones_initializer = _ones_initializer
orthogonal_initializer = _orthogonal_initializer
random_normal_initializer = _random_normal_initializer
random_uniform_initializer = _random_uniform_initializer
self_adjoint_eig = _self_adjoint_eig
self_adjoint_eigvals = _self_adjoint_eigvals
truncated_normal_initializer = _truncated_normal_initializer
uniform_unit_scaling_initializer = _uniform_unit_scaling_initializer
variance_scaling_initializer = _variance_scaling_initializer
zeros_initializer = _zeros_initializer

__version__: str
