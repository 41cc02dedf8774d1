"""The table of TensorFlow 1.15's modules: where each one's names come from."""

from __future__ import annotations

from staticgraph.compat import contrib_names, internal_names, old_names
from staticgraph.compat.legacy import app, build, errors, flags, gfile, logging, messages, strings, testing
from staticgraph.compat.namespace import Area, Tree

# Modules that have the same name in `staticgraph`, now or later.
_SAME = """
    audio bitwise data data.experimental debugging distributions estimator feature_column graph_util
    image io keras keras.activations keras.applications keras.backend keras.callbacks keras.constraints
    keras.datasets keras.initializers keras.layers keras.losses keras.metrics keras.models
    keras.optimizers keras.preprocessing keras.regularizers keras.utils layers layers.experimental
    linalg lookup losses math metrics nest nn.rnn_cell python_io queue saved_model saved_model.builder
    saved_model.constants saved_model.loader saved_model.main_op saved_model.signature_constants
    saved_model.signature_def_utils saved_model.tag_constants saved_model.utils sets signal sparse
    spectral strings summary train.queue_runner user_ops
"""

_FLAGS = ("CXX11_ABI_FLAG", "MONOLITHIC_BUILD")
_VERSION = ("VERSION", "GIT_VERSION", "COMPILER_VERSION", "GRAPH_DEF_VERSION")

TREE = Tree(
    {path: Area((path,)) for path in _SAME.split()}
    | {
        "": Area(("", build, messages), old_names.ROOT),
        "app": Area((app,)),
        "app.flags": Area((flags,)),
        "compat": Area((strings,)),
        "compat.v1": Area(areas=("",)),
        "dtypes": Area(names=old_names.DTYPES),
        "errors": Area(("errors", errors)),
        "flags": Area((flags,)),
        "gfile": Area((gfile,)),
        "initializers": Area(("initializers",), old_names.INITIALIZERS),
        "io": Area(("io",)),
        "io.file_io": Area(names=old_names.FILE_IO),
        "io.gfile": Area(names=old_names.IO_GFILE),
        "keras.initializers": Area(("keras.initializers",), areas=("initializers",)),
        "logging": Area((logging,)),
        "manip": Area(names=old_names.MANIP),
        "nn": Area(("nn",), old_names.NN),
        "random": Area(("random",), old_names.RANDOM),
        "sysconfig": Area(names={name: name for name in _FLAGS}),
        "test": Area((testing,)),
        "train": Area(("train",), old_names.TRAIN),
        "version": Area(names={name: name for name in _VERSION}),
    }
    | contrib_names.AREAS
    | internal_names.AREAS
)
