"""Static computation graphs: declare, differentiate, compile, run, save, draw."""

import os.path
import sys
from types import ModuleType as _ModuleType

# A wheel holds `compiler` and `runtime` inside this folder; in a checkout they lie beside it. Python may look
# there during this one import only: nothing else in the checkout (tests, tools) becomes part of the package.
if not os.path.isdir(os.path.join(__path__[0], "compiler")):
    __path__.append(os.path.dirname(__path__[0]))
    from staticgraph import compiler, runtime

    __path__.pop()

from staticgraph.compiler.support.gc_pause import collector_paused as _collector_paused

# What is imported stays: to look through it for garbage would take a sixth of the time.
_pause = _collector_paused()
_pause.__enter__()  # no `with`: all that a user sees is listed here

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
from staticgraph.runtime.session import Session
from staticgraph.runtime.session import default_session as get_default_session

from staticgraph.namespaces import public_paths as _public_paths
from staticgraph.building import tracebacks as _tracebacks
from staticgraph.compiler.support.lazy_names import functions_of as _functions_of
from staticgraph.compiler.support.lazy_names import lazy_names as _lazy_names
from staticgraph.compiler.support.lazy_names import show_public_names as _show_public_names
from staticgraph.compiler.support.lazy_names import tell_missing_names as _tell_missing_names
from staticgraph.namespaces.public_names import NAMES as _NAMES
from staticgraph.namespaces.public_names import tell_lower_layers as _tell_lower_layers
from staticgraph.namespaces.public_paths import HOMES as _HOMES

_tell_lower_layers()
_public_paths.install()
_pause.__exit__()
_tracebacks.install()
_names = _functions_of("staticgraph.namespaces.missing_names", "MissingNameError")
_tell_missing_names(_names.MissingNameError)
if "IPython" in sys.modules:
    _functions_of("staticgraph.applications.notebook", "install").install()

# `public_names` tells where all other names are; type checkers read `__init__.pyi`.
__version__ = "0.1.0"

_dir = _lazy_names(__name__, _NAMES, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
_eager = [name for name, value in globals().items() if not isinstance(value, _ModuleType)]
__all__ = sorted(name for name in {"compiler", "errors", "runtime", *_eager, *_dir()} if name[0] != "_")
_show_public_names(__name__)
