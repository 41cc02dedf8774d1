"""The table of TensorFlow 1.15's modules: where each one's names come from."""

from collections.abc import Iterator

from staticgraph.compiler.support.lazy_names import extension
from staticgraph.nn import fake_quantization, scaled_quantization
from staticgraph.tf1.compat import contrib_names, internal_names, message_names, old_names
from staticgraph.tf1.compat.devices import device_spec
from staticgraph.tf1.compat.legacy import (
    app,
    build,
    errors,
    flag_groups,
    flags,
    functions,
    gfile,
    logging,
    old_summaries,
    resource_loader,
    string_split,
    strings,
)
from staticgraph.tf1.compat.namespace import Area, Tree
from staticgraph.tf1.compat.testing import benchmark, cases, gradient_checker
from staticgraph.tf1.distribute import experimental
from staticgraph.tf1.keras import estimator as keras_estimator

# Modules that have the same name in `staticgraph`, now or later.
_SAME = """
    bitwise data data.experimental debugging distribute distributions
    estimator.experimental estimator.export estimator.inputs feature_column graph_util
    image io keras keras.activations keras.applications keras.applications.imagenet_utils
    keras.applications.inception_v3 keras.applications.mobilenet keras.applications.mobilenet_v2
    keras.applications.densenet keras.applications.inception_resnet_v2 keras.applications.nasnet
    keras.applications.resnet keras.applications.resnet50 keras.applications.resnet_v2
    keras.applications.vgg16 keras.applications.vgg19 keras.applications.xception
    keras.backend keras.callbacks keras.constraints
    keras.datasets keras.datasets.boston_housing keras.datasets.cifar10 keras.datasets.cifar100
    keras.datasets.fashion_mnist keras.datasets.imdb keras.datasets.mnist keras.initializers keras.layers
    keras.losses keras.metrics keras.models keras.optimizers keras.optimizers.schedules
    keras.preprocessing keras.preprocessing.image keras.preprocessing.sequence keras.preprocessing.text
    keras.experimental keras.regularizers keras.utils layers layers.experimental
    linalg lookup lookup.experimental losses math metrics nest nn.rnn_cell python_io queue ragged saved_model
    saved_model.builder
    saved_model.constants saved_model.loader saved_model.main_op saved_model.signature_constants
    saved_model.signature_def_utils saved_model.tag_constants saved_model.utils sets signal sparse
    spectral strings summary user_ops
"""

_FLAGS = ("CXX11_ABI_FLAG", "MONOLITHIC_BUILD")
_VERSION = ("VERSION", "GIT_VERSION", "COMPILER_VERSION", "GRAPH_DEF_VERSION")

TREE = Tree(
    {path: Area((path,)) for path in _SAME.split()}
    | {
        "": Area(
            (
                "",
                build,
                device_spec,
                functions,
                old_summaries,
                string_split,
                ".building.modules",
                ".building.session_handles",
            ),
            old_names.ROOT | message_names.ROOT,
        ),
        "audio": Area(("tf1.io.sounds",)),
        "app": Area((app,)),
        "app.flags": Area((flags, flag_groups)),
        "compat": Area((strings,), old_names.COMPAT),
        "compat.v1": Area(areas=("",)),
        "config": Area(names=old_names.CONFIG),
        "config.experimental": Area(names=old_names.CONFIG_EXPERIMENTAL),
        "config.optimizer": Area(names=old_names.CONFIG_OPTIMIZER),
        "config.threading": Area(names=old_names.CONFIG_THREADING),
        "distribute.experimental": Area((experimental,)),
        "dtypes": Area(names=old_names.DTYPES),
        "errors": Area(("errors", errors)),
        "estimator": Area(("estimator",), old_names.ESTIMATOR),
        "estimator.tpu": Area(areas=("contrib.tpu",)),
        "flags": Area((flags, flag_groups)),
        "gfile": Area((gfile,)),
        "initializers": Area(("initializers",), old_names.INITIALIZERS),
        "io": Area(("io",), old_names.IO),
        "keras.estimator": Area((keras_estimator,)),
        "keras.wrappers.scikit_learn": Area(("tf1.keras.utils.scikit_learn",)),
        "io.file_io": Area(names=old_names.FILE_IO),
        "io.gfile": Area(names=old_names.IO_GFILE),
        "logging": Area((logging,)),
        "manip": Area(names=old_names.MANIP),
        "nn": Area(("nn",), old_names.NN),
        "nn.rnn_cell": Area(("nn.rnn_cell",), old_names.RNN_CELL),
        "nn.seq2seq": Area(areas=("contrib.legacy_seq2seq",)),
        "quantization": Area((fake_quantization, scaled_quantization)),
        "random": Area(("random",), old_names.RANDOM),
        "resource_loader": Area((resource_loader,)),
        "sysconfig": Area(names={name: name for name in _FLAGS}),
        "test": Area((cases, benchmark, gradient_checker)),
        "test.mock": Area((".testing.mock",)),
        "train": Area(("train",), old_names.TRAIN | message_names.TRAIN),
        "pywrap_tensorflow": Area(areas=("python.pywrap_tensorflow",)),
        "train.experimental": Area((".contrib.optimizers.graph_rewrite",)),
        "train.queue_runner": Area(names=old_names.QUEUE_RUNNER),
        "version": Area(names={name: name for name in _VERSION}),
    }
    | contrib_names.AREAS
    | internal_names.AREAS
    | message_names.AREAS
)


@extension("public_names")
def public_names() -> Iterator[str]:
    """Every supported dotted name, those of modules and of old spellings too."""
    yield from TREE.supported()
    yield from (path for path in TREE.areas if path and path.split(".")[0] != "python")
