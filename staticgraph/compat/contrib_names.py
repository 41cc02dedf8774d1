"""`tf.contrib`, as far as programs use it: which of our names, and of the modules in `legacy`, it shows."""

from staticgraph.compat.legacy import (
    arg_scope,
    contrib_layers,
    contrib_losses,
    contrib_metrics,
    mnist,
    model_variables,
    regularizers,
)
from staticgraph.compat.namespace import Area

_LAYERS = {
    "convolution2d": "contrib.layers.conv2d",
    "convolution2d_transpose": "contrib.layers.conv2d_transpose",
    "elu": "nn.elu",
    "relu": "contrib.layers.fully_connected",
    "relu6": "nn.relu6",
    "xavier_initializer_conv2d": "contrib.layers.xavier_initializer",
}
_STEP = {
    name: f"train.{name}"
    for name in ("assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step")
}

AREAS = {
    "contrib.layers": Area((contrib_layers, regularizers), _LAYERS),
    "contrib.layers.python.layers": Area(areas=("contrib.layers",)),
    "contrib.framework": Area((arg_scope, model_variables), _STEP),
    "contrib.framework.python.ops": Area(areas=("contrib.framework",)),
    "contrib.framework.python.ops.variables": Area(areas=("contrib.framework",)),
    "contrib.framework.nest": Area(("nest",)),
    "contrib.slim": Area(areas=("contrib.layers", "contrib.framework")),
    "contrib.slim.losses": Area((contrib_losses,)),
    "contrib.slim.initializers": Area(areas=("contrib.layers", "initializers")),
    "contrib.slim.regularizers": Area((regularizers,)),
    "contrib.losses": Area((contrib_losses,)),
    "contrib.metrics": Area((contrib_metrics,)),
    "contrib.rnn": Area(areas=("nn.rnn_cell",), names={
        "static_rnn": "nn.static_rnn",
        "static_bidirectional_rnn": "nn.static_bidirectional_rnn",
        "static_state_saving_rnn": "nn.static_state_saving_rnn",
    }),
    "contrib.data": Area(areas=("data.experimental", "data"), names={"Dataset": "data.Dataset"}),
    "contrib.distributions": Area(areas=("distributions",)),
    "contrib.learn.datasets.mnist": Area((mnist,)),
    "contrib.learn.python.learn.datasets.mnist": Area((mnist,)),
}  # fmt: skip
