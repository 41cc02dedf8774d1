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

# What others call it, in small letters, and what it is here: a public name, or words.
_ELSEWHERE = {
    "adagrad": "train.AdagradOptimizer",
    "adadelta": "train.AdadeltaOptimizer",
    "adam": "train.AdamOptimizer",
    "adamax": "contrib.opt.AdaMaxOptimizer",
    "adamw": "contrib.opt.AdamWOptimizer",
    "arange": "range",
    "array": "constant",
    "as_tensor": "convert_to_tensor",
    "attention": "keras.layers.Attention",
    "backward": "gradients",
    "batch_norm": "layers.batch_normalization",
    "batchnorm": "layers.batch_normalization",
    "batchnorm1d": "layers.batch_normalization",
    "batchnorm2d": "layers.batch_normalization",
    "bceloss": "losses.log_loss",
    "bcewithlogitsloss": "losses.sigmoid_cross_entropy",
    "cat": "concat",
    "clip": "clip_by_value",
    "clip_grad_norm": "clip_by_global_norm",
    "clip_grad_norm_": "clip_by_global_norm",
    "conv1d": "layers.conv1d",
    "conv2d": "layers.conv2d",
    "conv3d": "layers.conv3d",
    "crossentropyloss": "losses.sparse_softmax_cross_entropy",
    "cross_entropy": "losses.sparse_softmax_cross_entropy",
    "dataloader": "data.Dataset",
    "dense": "layers.dense",
    "dropout": "layers.dropout",
    "embedding": "nn.embedding_lookup",
    "fori_loop": "while_loop",
    "from_numpy": "constant",
    "full": "fill",
    "function": "every graph is compiled when sg.Session first runs it",
    "grad": "gradients",
    "gradienttape": "gradients",
    "gru": "nn.rnn_cell.GRUCell",
    "huber": "losses.huber_loss",
    "input": "placeholder",
    "jit": "every graph is compiled when sg.Session first runs it",
    "l1loss": "losses.absolute_difference",
    "lars": "contrib.opt.LARSOptimizer",
    "layernorm": "keras.layers.LayerNormalization",
    "layer_norm": "keras.layers.LayerNormalization",
    "lbfgs": "contrib.opt.ScipyOptimizerInterface",
    "lbfgsoptimizer": "contrib.opt.ScipyOptimizerInterface",
    "l_bfgs": "contrib.opt.ScipyOptimizerInterface",
    "linear": "layers.dense",
    "logsoftmax": "nn.log_softmax",
    "lstm": "nn.rnn_cell.LSTMCell",
    "masked_select": "boolean_mask",
    "maxpool2d": "layers.max_pooling2d",
    "mean": "reduce_mean",
    "mm": "matmul",
    "mse": "losses.mean_squared_error",
    "mse_loss": "losses.mean_squared_error",
    "mseloss": "losses.mean_squared_error",
    "multiheadattention": "keras.layers.Attention",
    "multihead_attention": "keras.layers.Attention",
    "nadam": "contrib.opt.NadamOptimizer",
    "nll_loss": "losses.sparse_softmax_cross_entropy",
    "no_grad": "stop_gradient",
    "optim": "train",
    "optimizers": "train",
    "parameter": "Variable",
    "permute": "transpose",
    "power": "pow",
    "prod": "reduce_prod",
    "rand": "random_uniform",
    "randint": "random_uniform",
    "randn": "random_normal",
    "randperm": "random_shuffle",
    "rmsprop": "train.RMSPropOptimizer",
    "scaled_dot_product_attention": "keras.layers.Attention",
    "sgd": "train.GradientDescentOptimizer",
    "smooth_l1_loss": "losses.huber_loss",
    "sum": "reduce_sum",
    "take": "gather",
    "tensor": "constant",
    "topk": "nn.top_k",
    "view": "reshape",
    "vmap": "map_fn",
    "warmup": "multiply the rate by sg.minimum(1.0, step / steps), where step is sg.train.get_global_step()",
}
_ELSEWHERE["warm_up"] = _ELSEWHERE["linear_warmup"] = _ELSEWHERE["warmup"]


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
