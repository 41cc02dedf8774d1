"""Models for several GPUs."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.engine.model import Model
from staticgraph.tf1.keras.engine.structure import single


def multi_gpu_model(model: Model, gpus: Any, cpu_merge: bool = True, cpu_relocation: bool = False) -> Model:
    """Return a model with the weights of another one, for batches that several GPUs would share.

    One device computes the whole batch here, which gives what the parts of a batch give together. Batch
    normalization is the exception: it sees the whole batch, and not one part.

    Args:
        model: The model.
        gpus: The number of GPUs, 2 or more, or a list of their numbers.
        cpu_merge: Not used: there is nothing to merge.
        cpu_relocation: Not used: weights are where the model is computed.

    Raises:
        ValueError: There are less than two GPUs, or the model is not built.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=[3])])
    >>> parallel = sg.keras.utils.multi_gpu_model(model, gpus=2)
    >>> parallel.weights == model.weights
    True
    """
    count = len(gpus) if isinstance(gpus, list | tuple) else gpus
    if count <= 1:
        text = "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`."
        raise misuse(ValueError, f"{text} Received: `gpus={gpus}`")
    if not model.inputs:
        raise misuse(ValueError, f"model {model.name} is not built: give its first layer an input_shape")
    return Model(single(model.inputs), model(single(model.inputs)), name=f"{model.name}_parallel")
