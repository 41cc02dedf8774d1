"""The error for a public name that is not there: it tells where the name is, or what does the same.

Names of PyTorch, of Keras and of TensorFlow 2 are known by a table. The search through all public names
imports the modules that have them, so it waits until somebody reads the message: `hasattr` reads none.
"""

from __future__ import annotations

import sys
from typing import Any

from staticgraph.compiler.graph.errors import TOLD, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.compiler.support.nearest import nearest

_WARM_UP = "multiply the rate by sg.minimum(1.0, step / steps), where step is sg.train.get_global_step()"
# For each public name, or words, what others call it in small letters, between spaces.
_OTHERS = {
    "Variable": "parameter",
    "boolean_mask": "masked_select",
    "clip_by_global_norm": "clip_grad_norm clip_grad_norm_",
    "clip_by_value": "clip",
    "concat": "cat",
    "constant": "array from_numpy tensor",
    "contrib.opt.AdaMaxOptimizer": "adamax",
    "contrib.opt.AdamWOptimizer": "adamw",
    "contrib.opt.LARSOptimizer": "lars",
    "contrib.opt.NadamOptimizer": "nadam",
    "contrib.opt.ScipyOptimizerInterface": "l_bfgs lbfgs lbfgsoptimizer",
    "convert_to_tensor": "as_tensor",
    "data.Dataset": "dataloader",
    "fill": "full",
    "gather": "take",
    "gradients": "backward grad gradienttape",
    "keras.layers.Attention": "attention multihead_attention multiheadattention scaled_dot_product_attention",
    "keras.layers.LayerNormalization": "layer_norm layernorm",
    "layers.batch_normalization": "batch_norm batchnorm batchnorm1d batchnorm2d",
    "layers.conv1d": "conv1d",
    "layers.conv2d": "conv2d",
    "layers.conv3d": "conv3d",
    "layers.dense": "dense linear",
    "layers.dropout": "dropout",
    "layers.max_pooling2d": "maxpool2d",
    "losses.absolute_difference": "l1loss",
    "losses.huber_loss": "huber smooth_l1_loss",
    "losses.log_loss": "bceloss",
    "losses.mean_squared_error": "mse mse_loss mseloss",
    "losses.sigmoid_cross_entropy": "bcewithlogitsloss",
    "losses.sparse_softmax_cross_entropy": "cross_entropy crossentropyloss nll_loss",
    "map_fn": "vmap",
    "matmul": "mm",
    "nn.embedding_lookup": "embedding",
    "nn.log_softmax": "logsoftmax",
    "nn.rnn_cell.GRUCell": "gru",
    "nn.rnn_cell.LSTMCell": "lstm",
    "nn.top_k": "topk",
    "placeholder": "input",
    "pow": "power",
    "random_normal": "randn",
    "random_shuffle": "randperm",
    "random_uniform": "rand randint",
    "range": "arange",
    "reduce_mean": "mean",
    "reduce_prod": "prod",
    "reduce_sum": "sum",
    "reshape": "view",
    "stop_gradient": "no_grad",
    "train": "optim optimizers",
    "train.AdadeltaOptimizer": "adadelta",
    "train.AdagradOptimizer": "adagrad",
    "train.AdamOptimizer": "adam",
    "train.GradientDescentOptimizer": "sgd",
    "train.RMSPropOptimizer": "rmsprop",
    "transpose": "permute",
    "while_loop": "fori_loop",
    "every graph is compiled when sg.Session first runs it": "function jit",
    _WARM_UP: "linear_warmup warm_up warmup",
}
_ELSEWHERE = {other: ours for ours, others in _OTHERS.items() for other in others.split()}


class MissingNameError(AttributeError):
    """A public name that is not there. Its message tells the user's line, and a hint where there is one."""

    def __init__(self, package: str, name: str) -> None:
        # Python itself would add the nearest name of `obj`, which may be nearer to ours by letters alone.
        super().__init__(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        self.package, self.missing = package, name
        self._place = user_frame()
        self._message = ""
        vars(self)[TOLD] = True

    def __str__(self) -> str:
        if not self._message:
            what = f"module {public_path(self.package)!r} has no attribute {self.missing!r}"
            self._message = layout(what, self._place, hint=hint(self.package, self.missing))
        return self._message

    def __reduce__(self) -> Any:
        return MissingNameError, (self.package, self.missing)


def public_path(package: str) -> str:
    """Return the path by which a user knows a package of this project."""
    from staticgraph.namespaces.public_paths import HOMES  # the table of a package that imports this module

    _, _, below = package.partition(".")
    for public, home in HOMES.items():
        if below == home or below.startswith(home + "."):
            return f"staticgraph.{public}{below[len(home) :]}"
    return package


def hint(package: str, name: str) -> str | None:
    """Return where a name is that a user looked for in a package, or what does the same."""
    if name.startswith("_"):
        return None
    if (meant := _ELSEWHERE.get(name.lower())) is not None:
        return f"it is sg.{meant}" if " " not in meant else meant
    area = public_path(package).partition(".")[2]

    def distance(other: str) -> tuple[bool, bool, int, str]:
        place = other.rpartition(".")[0]
        return place != area, place.startswith("contrib"), other.count("."), other

    found = nearest(f"{area}.{name}" if area else name, EXTENSIONS["public_names"](), distance)
    if not found:
        return None
    spoken = _spoken(found[0])
    is_same = spoken.rpartition(".")[2].lower() == name.lower()
    return f"it is {spoken}" if is_same else f"did you mean {spoken}?"


def _spoken(dotted: str) -> str:
    """The name as a program writes it; some spellings are those of old programs alone."""
    found: Any = sys.modules["staticgraph"]
    for part in dotted.split("."):
        found = getattr(found, part, None)
        if found is None:
            return f"staticgraph.compat.tf1.{dotted}"
    return f"sg.{dotted}"
