"""From a model's outputs and their targets to one number to minimise, and to the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building import inputs
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor, group
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras import losses, metrics, state
from staticgraph.tf1.keras.engine.structure import listed
from staticgraph.tf1.keras.losses import Loss, LossFunction
from staticgraph.tf1.keras.metrics.base import MeanFunction
from staticgraph.tf1.keras.weighting import fitting, reduced, weighted


@dataclass(slots=True)
class Output:
    """One output in training: what it is compared with, how, and how much that counts."""

    name: str
    tensor: Tensor
    loss: Any = None
    weight: float = 1.0
    target: Tensor | None = None
    metrics: list[Any] = field(default_factory=list)  # metrics and whether samples are weighted in them
    mean_loss: Any = None  # the metric of this output's loss, where there are several


@dataclass(frozen=True, slots=True)
class Watched:
    """A metric that layers report by `add_metric`: the tensor that it takes, or, if `is_called`, gave."""

    metric: Any
    tensor: Tensor
    is_called: bool


@dataclass(frozen=True, slots=True)
class Objective:
    """Tensors of a step: the total loss, the metrics, and what is fed for them.

    The updates of the metrics must run in the same step.
    """

    total: Tensor
    results: list[Tensor]
    updates: Operation
    weights: list[Tensor]  # placeholders for the weights of samples
    fed: list[Tensor]  # the targets that must be fed


def per_output(value: Any, names: Sequence[str], what: str) -> list[Any]:
    """One entry per output, from a dict by names, a list, or one entry for all."""
    if isinstance(value, dict):
        if unknown := set(value) - set(names):
            raise misuse(
                ValueError, f"{what}: there is no output {sorted(unknown)[0]!r}, only {', '.join(names)}"
            )
        return [value.get(name) for name in names]
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            raise misuse(
                ValueError, f"{what}: {len(value)} entries for {len(names)} outputs, {', '.join(names)}"
            )
        return list(value)
    return [value] * len(names)


def loss_of(given: Any) -> Any:
    """A loss as an object, from a name or a function."""
    found = losses.get(given)
    if found is None or isinstance(found, Loss) or not callable(found):
        return found
    if isinstance(found, type):
        return found()
    return LossFunction(found, name=getattr(found, "__name__", "loss"))


def make_outputs(
    model: Any, loss: Any, weights: Any, chosen: Any, weighted_metrics: Any, targets: Any
) -> list[Output]:
    """The outputs of a model, with what `compile` was told of each."""
    names = model.output_names
    outputs = [
        Output(name, tensor, loss_of(each), 1.0 if weight is None else float(weight))
        for name, tensor, each, weight in zip(
            names,
            model.outputs,
            per_output(loss, names, "loss"),
            per_output(weights, names, "loss_weights"),
            strict=True,
        )
    ]
    given = per_output(targets, names, "target_tensors")
    several = len(outputs) > 1
    taken: dict[str, int] = {}
    for output, target in zip(outputs, given, strict=True):
        if output.loss is not None:
            output.target = _target(output) if target is None else convert_to_tensor(target)
            if several:
                output.mean_loss = metrics.Mean(name=f"{output.name}_loss")
    for wanted, is_weighted in ((chosen, False), (weighted_metrics, True)):
        for output, some in zip(outputs, _metrics_per_output(wanted, names), strict=True):
            if output.target is not None:
                for one in some:
                    output.metrics.append((_metric(one, output, is_weighted, several, taken), is_weighted))
    return outputs


def _target(output: Output) -> Tensor:
    """A placeholder for what an output is compared with."""
    rank = output.tensor.shape.ndims
    dtype = output.tensor.dtype if output.tensor.dtype.is_floating else "float32"
    sizes = None if rank is None else [None] * rank
    if sizes and getattr(output.loss, "fn", None) is losses.sparse_categorical_crossentropy:
        sizes[-1] = 1  # type: ignore[call-overload]
    return inputs.placeholder(dtype, sizes, name=f"{output.name}_target")


def _metrics_per_output(given: Any, names: Sequence[str]) -> list[list[Any]]:
    if not given:
        return [[] for _ in names]
    if isinstance(given, dict) or (len(names) > 1 and any(isinstance(g, list | tuple) for g in given)):
        return [listed(each) for each in per_output(given, names, "metrics")]
    flat = [one for each in listed(given) for one in listed(each)]
    return [list(flat) for _ in names]


def _metric(given: Any, output: Output, is_weighted: bool, several: bool, taken: dict[str, int]) -> Any:
    """A metric as an object with the name under which it is reported."""
    found = metrics.get(_chosen(given, output))
    if isinstance(found, type):
        found = found()
    if isinstance(found, metrics.Metric):
        name = found.name
    else:
        short = {"accuracy": "acc", "crossentropy": "ce"}
        name = (
            short.get(given, given) if given in ("acc", "accuracy", "ce", "crossentropy") else found.__name__
        )
        name = f"weighted_{name}" if is_weighted else name
    name = f"{output.name}_{name}" if several else name
    taken[name] = taken.get(name, 0) + 1
    name = name if taken[name] == 1 else f"{name}_{taken[name] - 1}"
    if not isinstance(found, metrics.Metric):
        return MeanFunction(found, name)
    found._name = name
    return found


def _chosen(given: Any, output: Output) -> Any:
    """The function that "accuracy" and "crossentropy" stand for, by the shape of the output and its loss."""
    if given not in ("acc", "accuracy", "ce", "crossentropy"):
        return given
    fn = getattr(output.loss, "fn", None)
    sizes = output.tensor.shape.as_list() if output.tensor.shape.ndims else [None]
    if sizes[-1] == 1 or fn is losses.binary_crossentropy:
        kind = "binary"
    else:
        kind = "sparse_categorical" if fn is losses.sparse_categorical_crossentropy else "categorical"
    return f"{kind}_accuracy" if given in ("acc", "accuracy") else f"{kind}_crossentropy"


def watched(given: Sequence[tuple[str, Tensor, Any]]) -> list[Watched]:
    """Return what is reported of the calls of `add_metric`: of several with one name, the last."""
    last = {name: (tensor, metric) for name, tensor, metric in given}
    return [Watched(m or metrics.Mean(name), t, m is not None) for name, (t, m) in last.items()]


def build(
    losses: Sequence[Any], outputs: list[Output], extra: list[Watched], ranks: Sequence[int | None]
) -> Objective:
    """Return the objective if the samples of output i have weights of ranks[i] axes, or none for None.

    `losses` are the penalties, `extra` is what layers report.
    """
    updates, results, total = [], [], None
    trained = [(o, _weights(o, rank)) for o, rank in zip(outputs, ranks, strict=True) if o.target is not None]
    for output, weights in trained:
        with name_scope("loss"), name_scope(f"{output.name}_loss"):
            loss = _loss(output, weights)
        if output.mean_loss is not None:
            updates.append(output.mean_loss.update_state(loss))
            results.append(output.mean_loss.result())
        part = loss if output.weight == 1.0 else output.weight * loss
        total = part if total is None else total + part
    for output, weights in trained:
        for metric, is_weighted in output.metrics:
            counted = _counted(output, weights if is_weighted else None)
            given = {} if counted is None else {"sample_weight": counted}
            with name_scope("metrics"), name_scope(metric.name):
                updates.append(metric.update_state(output.target, output.tensor, **given))
                results.append(metric.result())
    for each in extra:
        updates.append(each.tensor.op if each.is_called else each.metric.update_state(each.tensor))
        results.append(each.metric.result())
    for penalty in losses:
        value = penalty if penalty.shape.ndims == 0 else inputs.convert_to_tensor(penalty.sum())
        total = value if total is None else total + cast(value, total.dtype)
    if total is None:
        raise misuse(
            ValueError, "the model has nothing to minimise: give compile() a loss, or call add_loss()"
        )
    fed = [o.target for o, _ in trained if o.target is not None and _is_placeholder(o.target)]
    return Objective(total, results, group(*updates), [w for _, w in trained if w is not None], fed)


def _weights(output: Output, rank: int | None) -> Tensor | None:
    """A placeholder for the weights of samples."""
    if rank is None:
        return None
    return inputs.placeholder(output.tensor.dtype, [None] * rank, f"{output.name}_sample_weights")


def _is_placeholder(tensor: Tensor) -> bool:
    return tensor.op.definition.name == "placeholder"


def _counted(output: Output, weights: Any) -> Any:
    """Weights of samples, zero where the mask of the output is false."""
    mask = state.masks(output.tensor.graph).get(output.tensor)
    if mask is None:
        return weights
    kept = cast(mask, output.tensor.dtype)
    return kept if weights is None else fitting(weights, kept) * kept


def _loss(output: Output, weights: Any) -> Tensor:
    counted = _counted(output, weights)
    if not isinstance(output.loss, Loss):
        return output.loss(output.target, output.tensor, sample_weight=counted)
    each = weighted(output.loss.call(output.target, output.tensor), counted)
    return reduced(each, output.loss.reduction)
