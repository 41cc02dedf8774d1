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
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "histogram_summary": "summary.histogram",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
    # other spellings of 1.15
    "OpError": "errors.OpError",
    "TFRecordReader": "io.TFRecordReader",
    "decode_csv": "io.decode_csv",
    "decode_raw": "io.decode_raw",
    "fft": "signal.fft",
    "fft2d": "signal.fft2d",
    "fft3d": "signal.fft3d",
    "ifft": "signal.ifft",
    "ifft2d": "signal.ifft2d",
    "ifft3d": "signal.ifft3d",
    "log_sigmoid": "math.log_sigmoid",
    "parse_example": "io.parse_example",
    "parse_single_example": "io.parse_single_example",
    "read_file": "io.read_file",
    "string_split": "strings.split",
    "write_file": "io.write_file",
}

NN = {
    "deconv2d": "nn.conv2d_transpose",
    "log_sigmoid": "log_sigmoid",
    "rnn": "nn.static_rnn",
}

TRAIN = {
    "SummaryWriter": "summary.FileWriter",
}

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
