"""Names that TF1 renamed before 1.15, moved, or kept under several paths: what each stands for.

Only the spelling may differ here. Where the arguments do too, the old name is not in these tables: a program
that says it gets an error and not another result.
"""

ROOT = {
    # before 1.0
    "arg_max": "argmax",
    "arg_min": "argmin",
    "batch_matmul": "matmul",
    "batch_svd": "svd",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_cholesky": "cholesky",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "inv": "reciprocal",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
    # other spellings of 1.15
    "CriticalSection": "python.ops.critical_section_ops.CriticalSection",
    "OpError": "errors.OpError",
    "get_logger": "logging.get_logger",
    "no_gradient": "NotDifferentiable",
    "guarantee_const": "identity",
    "matrix_square_root": "linalg.sqrtm",
    "vectorized_map": "map_fn",
    "TFRecordReader": "io.TFRecordReader",
    "initialize_all_tables": "tables_initializer",
    "fft": "signal.fft",
    "fft2d": "signal.fft2d",
    "fft3d": "signal.fft3d",
    "ifft": "signal.ifft",
    "ifft2d": "signal.ifft2d",
    "ifft3d": "signal.ifft3d",
    "log_sigmoid": "math.log_sigmoid",
    "read_file": "io.read_file",
    "write_file": "io.write_file",
}

# Files of pictures, which stand in `io` too.
_PICTURES = """
    decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg
    extract_jpeg_shape is_jpeg
"""
IO = {name: f"image.{name}" for name in _PICTURES.split()}

# Names that the root has beside the modules `io` and `strings`.
_IO = """
    FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_base64 decode_compressed
    decode_csv decode_raw encode_base64 parse_example parse_single_example parse_single_sequence_example
    parse_tensor serialize_tensor deserialize_many_sparse serialize_many_sparse serialize_sparse
"""
_SPECS = "IndexedSlicesSpec RaggedTensorSpec SparseTensorSpec TensorSpec TypeSpec"
_QUANTIZED = [f"fake_quant_with_min_max_{kind}" for kind in ("args", "vars", "vars_per_channel")]
_STRINGS = "as_string reduce_join regex_replace substr"
_STRING = "join strip to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number"
ROOT |= (
    {f"{name}{end}": f"quantization.{name}{end}" for name in _QUANTIZED for end in ("", "_gradient")}
    | {name: f"io.{name}" for name in _IO.split()}
    | {name: f"python.framework.tensor_spec.{name}" for name in _SPECS.split()}
    | {name: f"strings.{name}" for name in _STRINGS.split()}
    | {f"string_{name}": f"strings.{name}" for name in _STRING.split()}
)

NN = {
    "deconv2d": "nn.conv2d_transpose",
    "log_sigmoid": "log_sigmoid",
    "bidirectional_rnn": "nn.static_bidirectional_rnn",
    "rnn": "nn.static_rnn",
    "state_saving_rnn": "nn.static_state_saving_rnn",
}

_RNN_CELL = "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper"
RNN_CELL = {name: f"contrib.rnn.{name}" for name in _RNN_CELL.split()}

TRAIN = {
    "SummaryWriter": "summary.FileWriter",
    "summary_iterator": "summary.summary_iterator",
    "write_graph": "io.write_graph",
}

QUEUE_RUNNER = {name: f"train.{name}" for name in ("QueueRunner", "add_queue_runner", "start_queue_runners")}

_HOOKS = """
    CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook
    LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs
    SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook
"""
ESTIMATOR = {name: f"train.{name}" for name in [*_HOOKS.split(), "VocabInfo"]}

RANDOM = {
    "normal": "random_normal",
    "uniform": "random_uniform",
    "truncated_normal": "truncated_normal",
    "shuffle": "random_shuffle",
    "set_random_seed": "set_random_seed",
    "get_seed": "get_seed",
    "multinomial": "multinomial",
    "categorical": "categorical",
    "gamma": "random_gamma",
    "poisson": "random_poisson",
    "log_uniform_candidate_sampler": "nn.log_uniform_candidate_sampler",
    "uniform_candidate_sampler": "nn.uniform_candidate_sampler",
}

INITIALIZERS = {
    "global_variables": "global_variables_initializer",
    "local_variables": "local_variables_initializer",
    "variables": "variables_initializer",
    "tables_initializer": "tables_initializer",
}

_MANIP = "batch_to_space_nd gather_nd reshape reverse roll scatter_nd space_to_batch_nd tile"
MANIP = {name: name for name in _MANIP.split()}

_DTYPES = """
    DType as_dtype cast complex saturate_cast bfloat16 bool complex128 complex64 double float16 float32
    float64 half int16 int32 int64 int8 string uint16 uint32 uint64 uint8
"""
DTYPES = {name: name for name in _DTYPES.split()}

# `tf.io.gfile` in the words of TensorFlow 2, and `tensorflow.python.lib.io.file_io` in its own.
IO_GFILE = {
    "GFile": "gfile.GFile",
    "copy": "gfile.Copy",
    "exists": "gfile.Exists",
    "glob": "gfile.Glob",
    "isdir": "gfile.IsDirectory",
    "listdir": "gfile.ListDirectory",
    "makedirs": "gfile.MakeDirs",
    "mkdir": "gfile.MkDir",
    "remove": "gfile.Remove",
    "rename": "gfile.Rename",
    "rmtree": "gfile.DeleteRecursively",
    "stat": "gfile.Stat",
    "walk": "gfile.Walk",
}
FILE_IO = {
    "FileIO": "gfile.GFile",
    "copy": "gfile.Copy",
    "create_dir": "gfile.MkDir",
    "delete_file": "gfile.Remove",
    "delete_recursively": "gfile.DeleteRecursively",
    "file_exists": "gfile.Exists",
    "get_matching_files": "gfile.Glob",
    "is_directory": "gfile.IsDirectory",
    "list_directory": "gfile.ListDirectory",
    "recursive_create_dir": "gfile.MakeDirs",
    "rename": "gfile.Rename",
    "stat": "gfile.Stat",
    "walk": "gfile.Walk",
}


# Functions of TensorFlow's `python.framework.config`, under shorter names.
_SETTINGS = "python.framework.config"
COMPAT = {name: name for name in ("dimension_at_index", "dimension_value")}
CONFIG = {name: f"{_SETTINGS}.{name}" for name in ("get_soft_device_placement", "set_soft_device_placement")}
_DEVICES = """
    VirtualDeviceConfiguration get_memory_growth get_virtual_device_configuration get_visible_devices
    list_logical_devices list_physical_devices set_memory_growth set_virtual_device_configuration
    set_visible_devices
"""
CONFIG_EXPERIMENTAL = {name: f"{_SETTINGS}.{name}" for name in _DEVICES.split()}
CONFIG_OPTIMIZER = {
    f"{verb}_{what}": f"{_SETTINGS}.{verb}_optimizer_{what}"
    for verb in ("get", "set")
    for what in ("experimental_options", "jit")
}
CONFIG_THREADING = {
    name: f"{_SETTINGS}.{name}"
    for name in (
        f"{verb}_{kind}_op_parallelism_threads" for verb in ("get", "set") for kind in ("inter", "intra")
    )
}
