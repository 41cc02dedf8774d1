"""Static computation graphs: declare, differentiate, compile, run, save, draw."""

import os.path
import sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any

# A wheel holds `compiler` and `runtime` inside this folder; in a checkout they lie beside it. Python may look
# there during this one import only: nothing else in the checkout (tests, tools) becomes part of the package.
if not os.path.isdir(os.path.join(__path__[0], "compiler")):
    __path__.append(os.path.dirname(__path__[0]))
    from staticgraph import compiler, runtime

    __path__.pop()

from staticgraph.compiler.support import gc_pause as _collector

# What is imported stays: to look through it for garbage would take a sixth of the time.
_collecting = _collector.pause()

# The graph
from staticgraph.compiler.graph import errors
from staticgraph.compiler.graph.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from staticgraph.compiler.graph.dtypes import bool_ as bool
from staticgraph.compiler.graph.dtypes import float16 as half
from staticgraph.compiler.graph.dtypes import float64 as double
from staticgraph.compiler.graph.shapes import Dimension, TensorShape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.building.framework import *
from staticgraph.building.inputs import *

# Running
from staticgraph.runtime.session import InteractiveSession, Session
from staticgraph.runtime.session import default_session as get_default_session

from staticgraph import extensions as _extensions
from staticgraph import public_paths as _public_paths
from staticgraph.building import tracebacks as _tracebacks
from staticgraph.compiler.support.lazy_names import lazy_names as _lazy_names
from staticgraph.public_names import NAMES as _NAMES
from staticgraph.public_paths import HOMES as _HOMES

_extensions.install()
_public_paths.install()
_collector.go_on(_collecting)
_tracebacks.install()

# All other names, for type checkers: `public_names` has them, and they are imported when they are first used.
if TYPE_CHECKING:
    # Conversion
    from staticgraph.building.conversion import *

    # Variables
    from staticgraph.state.variables import *
    from staticgraph.state.variable_lists import *
    from staticgraph.state.scopes import *
    from staticgraph.state.store import *
    from staticgraph.state.state_ops import *
    from staticgraph.state.template import *
    from staticgraph.state import initializers
    from staticgraph.state.initializers import Constant as constant_initializer
    from staticgraph.state.initializers import GlorotNormal as glorot_normal_initializer
    from staticgraph.state.initializers import GlorotUniform as glorot_uniform_initializer
    from staticgraph.state.initializers import Ones as ones_initializer
    from staticgraph.state.initializers import Orthogonal as orthogonal_initializer
    from staticgraph.state.initializers import RandomNormal as random_normal_initializer
    from staticgraph.state.initializers import RandomUniform as random_uniform_initializer
    from staticgraph.state.initializers import TruncatedNormal as truncated_normal_initializer
    from staticgraph.state.initializers import UniformUnitScaling as uniform_unit_scaling_initializer
    from staticgraph.state.initializers import VarianceScaling as variance_scaling_initializer
    from staticgraph.state.initializers import Zeros as zeros_initializer

    # Operations
    from staticgraph import bitwise, linalg, math, nn, random
    from staticgraph.nn.activation import log_sigmoid, sigmoid, tanh
    from staticgraph.arrays.array_ops import *
    from staticgraph.arrays.casts import *
    from staticgraph.arrays.creation import *
    from staticgraph.arrays.indexing import *
    from staticgraph.linalg import (
        cholesky,
        cholesky_solve,
        cross,
        einsum,
        matmul,
        matrix_transpose,
        norm,
        qr,
        svd,
    )
    from staticgraph.linalg import tensordot, trace
    from staticgraph.linalg import det as matrix_determinant
    from staticgraph.linalg import eigh as self_adjoint_eig
    from staticgraph.linalg import eigvalsh as self_adjoint_eigvals
    from staticgraph.linalg import inv as matrix_inverse
    from staticgraph.linalg import lstsq as matrix_solve_ls
    from staticgraph.linalg import solve as matrix_solve
    from staticgraph.linalg import triangular_solve as matrix_triangular_solve
    from staticgraph.mathematics.math_ops import *
    from staticgraph.random_numbers.random_ops import *
    from staticgraph.gamma_sampling import *
    from staticgraph.mathematics.reductions import *
    from staticgraph.building.script_ops import *
    from staticgraph.mathematics.segments import *
    from staticgraph.arrays.sorting import *
    from staticgraph.arrays.space import *
    from staticgraph.mathematics.sparse_segments import *
    from staticgraph.sparse.names import *
    from staticgraph.tensor_queries import *

    # Control flow
    from staticgraph.control_flow.tensor_array import *
    from staticgraph.control_flow.branches import case, cond, switch_case
    from staticgraph.control_flow.loops import while_loop
    from staticgraph.control_flow.functional import *

    # Checks, and what is shown while a graph runs
    from staticgraph import debugging
    from staticgraph.debugging import *
    from staticgraph.debugging.numerics import add_check_numerics_ops, verify_tensor_all_finite
    from staticgraph.debugging.printing import *

    # Differentiation
    from staticgraph.differentiation.gradients import *
    from staticgraph.differentiation.custom_gradient import *
    from staticgraph.differentiation.gradient_registry import *
    from staticgraph.arrays.indexed_slices import *
    from staticgraph.mathematics.clip import *

    # Running
    from staticgraph.runtime.options import options
    from staticgraph.runtime.cpu.threads import get_num_threads, set_num_threads

    # Training, and saving
    from staticgraph import distribute
    from staticgraph.tf1 import (
        data,
        distributions,
        estimator,
        feature_column,
        keras,
        metrics,
        python_io,
        summary,
    )
    from staticgraph import image, layers, losses, strings, train
    from staticgraph.formats.tf import graph_util
    from staticgraph.tf1 import io
    from staticgraph.formats.tf import messages, saved_model
    from staticgraph.formats import onnx
    from staticgraph.saving import LoadedGraph, Signature, inspect, load, save
    from staticgraph.weights import load_weights, read_weights, save_weights

    # Drawing
    from staticgraph.draw.page import show
    from staticgraph.draw import visualize

__version__ = "0.1.0"

_NAMESPACES = {"compiler", "errors", "runtime"}

__getattr__, _dir = _lazy_names(__name__, _NAMES, {name: f"{__name__}.{name}" for name in _HOMES})


def __dir__() -> list[str]:
    folders = {name for name, value in globals().items() if isinstance(value, _ModuleType)}
    return sorted({*_dir()} - folders | _NAMESPACES | {*_HOMES})


if not TYPE_CHECKING:  # for `from staticgraph import *`, which type checkers understand without
    __all__ = [name for name in __dir__() if name[0] != "_"]
