"""From a description to a graph: the net twice over the same weights, as it predicts and as it trains.

What predicts has no dropout, and normalises by the statistics that training has gathered. Inputs are
normalised in the graph, so that a saved one takes what the data have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.applications.solver.data import Data
from staticgraph.applications.solver.description import Chosen, Description
from staticgraph.applications.solver.kinds import LAYERS, OPTIMIZERS, SCHEDULES, parameters
from staticgraph.applications.solver.objective import LOSSES, METRICS, USUAL, Answer
from staticgraph.applications.solver.places import Path as Keys
from staticgraph.applications.solver.places import Place
from staticgraph.applications.solver.reading import INPUT
from staticgraph.arrays.array_ops import reshape
from staticgraph.building.framework import name_scope, set_random_seed
from staticgraph.building.inputs import constant, identity, placeholder
from staticgraph.compiler.graph.dtypes import DType, float32, int32
from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance, made_for
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.clip import clip_by_global_norm
from staticgraph.mathematics.math_ops import abs, add_n, square
from staticgraph.mathematics.reductions import reduce_mean, reduce_sum
from staticgraph.saved.saving import Signature
from staticgraph.state.variable_lists import global_variables_initializer
from staticgraph.state.variables import Variable
from staticgraph.tf1.keras import constraints, initializers, regularizers
from staticgraph.train.step_count import create_global_step

_OBJECTS = {"_initializer": initializers, "_regularizer": regularizers, "_constraint": constraints}
_USUAL_EPOCHS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A layer, as the table of layers shows it."""

    name: str
    type: str
    shape: list[int | None]  # of the output, of one example
    parameters: int
    line: int


@dataclass(frozen=True, slots=True)
class Network:
    """The graph of a training, and what is asked of it."""

    graph: Graph
    rows: list[Row]
    inputs: Tensor
    labels: Tensor
    answers: dict[str, Tensor]
    validated: dict[str, Tensor]  # the loss and the metrics of each example, as the net predicts
    trained: dict[str, Tensor]  # the loss and the metrics of a batch, as it trains
    rate: Tensor
    step: Operation
    counter: Variable
    initialize: Operation
    steps: int  # of the whole training
    weights: int
    untrained: int

    @property
    def signatures(self) -> dict[str, Signature]:
        """The functions of a saved graph: what it predicts, how good it is, and a step of training."""
        fed = {"inputs": self.inputs, "labels": self.labels}
        return {
            "predict": Signature(self.answers, {"inputs": self.inputs}),
            "train": Signature(self.trained, fed, self.step),
            "evaluate": Signature(self.validated, fed),
        }


def build(described: Description, data: Data) -> Network:
    """The graph of a description. `DescriptionError` or `GraphError`, with the line, if there is none."""
    graph = Graph()
    with graph.as_default():
        set_random_seed(described.train.seed)
        return _Builder(described, data, graph).network()


class _Builder:
    def __init__(self, described: Description, data: Data, graph: Graph) -> None:
        self.described, self.data, self.graph = described, data, graph
        self.loss = LOSSES[described.loss.type]
        self.layers = [self.at(chosen.keys, self.layer(chosen), chosen.name) for chosen in described.layers]
        self.steps = described.train.steps or (described.train.epochs or _USUAL_EPOCHS) * data.steps

    def at(self, keys: Keys, make: Callable[[], Any], name: str = "") -> Any:
        """Return the result of `make`, whose nodes get the line of a key as their origin.

        Errors that name no line get that line too.
        """
        place = self.described.place(*keys)
        if place is not None and place.line:
            make = partial(made_for, self.line(place, name or str(keys[0])), make)
        try:
            return make()
        except (GraphError, OpError):
            raise
        except (TypeError, ValueError, NotImplementedError, RuntimeError) as error:
            what = f"layer {name}" if name else f"[{keys[0]}]"
            raise self.described.error(f"{what}: {error}", *keys) from None

    def line(self, place: Place, name: str) -> Provenance:
        """A place in the description as the line of the user's that makes nodes."""
        start, stop = (len(place.text[:end].encode()) for end in (place.start, place.stop))
        path = str(self.described.path)
        return Provenance(path, name, None, 0, place.line, place.text, (start, stop))

    def layer(self, chosen: Chosen) -> Callable[[], Any]:
        """Return a function that makes a layer."""

        def make() -> Any:
            options = {key: _object(key, value) for key, value in chosen.options.items()}
            return LAYERS[chosen.type](name=chosen.name, **options)

        return make

    def network(self) -> Network:
        examples = self.data.training
        dtype = int32 if self.described.layers[0].type == "embedding" else float32
        inputs = self.fed(dtype, examples.inputs, "inputs")
        labels = self.fed(self.loss.answer.dtype, examples.labels, "labels")
        rows, outputs = self.outputs(inputs, training=False)
        self.check_outputs(outputs)
        of_loss, of_steps = self.described.loss.keys, self.described.optimizer.keys
        compared = self.at(of_loss, lambda: self.compared(labels, outputs))
        answers = self.at(of_loss, lambda: self.loss.given(outputs))
        with name_scope("evaluate"):
            validated = self.measured(compared, outputs)
        with name_scope("train"):
            predicting = [cost for layer in self.layers for cost in layer.losses]
            _, seen = self.outputs(inputs, training=True)
            measured = self.measured(compared, seen)
            trained = self.at(of_loss, lambda: {n: reduce_mean(v, name=n) for n, v in measured.items()})
            trained["loss"] = self.with_penalties(trained["loss"], predicting)
            counter = self.at(of_steps, create_global_step)
            rate, step = self.at(of_steps, lambda: self.optimized(trained["loss"], counter))
        weights = [v for layer in self.layers for v in layer.weights]
        return Network(
            self.graph,
            rows,
            inputs,
            labels,
            answers,
            validated,
            trained,
            rate,
            step,
            counter,
            global_variables_initializer(),
            self.steps,
            _size(weights),
            _size([v for layer in self.layers for v in layer.non_trainable_weights]),
        )

    def fed(self, dtype: DType, examples: np.ndarray, name: str) -> Tensor:
        """Return a placeholder for the batch of examples that a step is fed."""
        make = partial(placeholder, dtype, [None, *examples.shape[1:]], name=name)
        return self.at(("data", self.described.data.source), make)

    def outputs(self, inputs: Tensor, training: bool) -> tuple[list[Row], Tensor]:
        """The output of the last layer, and all layers."""
        made = {INPUT: self.normalized(inputs)}
        before, rows = made[INPUT], []
        for chosen, layer in zip(self.described.layers, self.layers, strict=True):
            given = [made[name] for name in chosen.inputs] or [before]
            before = self.at(chosen.keys, partial(self.called, layer, given, training), chosen.name)
            made[chosen.name] = before
            place = self.described.place(*chosen.keys)
            line = place.line if place is not None else 0
            sizes = before.shape.as_list()[1:]
            rows.append(Row(chosen.name, chosen.type, sizes, _size(layer.weights), line))
        return rows, before

    @staticmethod
    def called(layer: Any, given: list[Tensor], training: bool) -> Tensor:
        extra = {"training": training} if "training" in layer._parameters else {}
        return layer(given[0] if len(given) == 1 else given, **extra)

    def normalized(self, inputs: Tensor) -> Tensor:
        how = self.data.normalization
        if how is None:
            return inputs
        with name_scope("normalize"):
            made = lambda: (inputs - constant(how.offset)) * constant(how.scale)  # noqa: E731
            return self.at(("data", "normalize"), made)

    def check_outputs(self, outputs: Tensor) -> None:
        """The last layer must give what the loss takes."""
        last, loss = self.described.layers[-1], self.described.loss
        keys, sizes = last.keys, outputs.shape.as_list()[1:]
        if self.loss.probable and last.options.get("activation") in ("softmax", "sigmoid"):
            text = f"the loss {loss.type} makes probabilities itself, and layer {last.name} already has"
            hint = f'leave out activation = "{last.options["activation"]}"'
            raise self.described.error(text, *keys[:-1], "activation", hint=hint)
        if self.loss.answer is Answer.CLASS:
            if not sizes:
                raise self.described.error(
                    f"layer {last.name} gives one number, not one for each class", *keys
                )
            classes, found = sizes[-1], int(self.data.training.labels.max()) + 1
            found = max(found, int(self.data.validation.labels.max()) + 1)
            if classes is not None and classes < found:
                text = f"layer {last.name} gives {classes} scores, and the labels go up to {found - 1}"
                raise self.described.error(text, *keys, hint=f"{found} classes need {found} scores")
            sizes = sizes[:-1]
        wanted = list(self.data.training.labels.shape[1:])
        if [*filter(lambda n: n != 1, sizes)] != [*filter(lambda n: n != 1, wanted)]:
            text = f"layer {last.name} answers with shape {sizes} for an example, and its label has {wanted}"
            raise self.described.error(text, *keys)

    def compared(self, labels: Tensor, outputs: Tensor) -> Tensor:
        """The labels in the shape in which they are compared with outputs."""
        sizes = outputs.shape.as_list()[1:]
        wanted = sizes[:-1] if self.loss.answer is Answer.CLASS else sizes
        if labels.shape.as_list()[1:] == wanted:
            return labels
        with name_scope("labels_as_outputs"):
            return reshape(labels, [-1, *wanted])

    def measured(self, labels: Tensor, outputs: Tensor) -> dict[str, Tensor]:
        """The loss and the metrics of each example."""
        loss, answer = self.described.loss, self.loss.answer
        names = self.described.train.metrics
        functions = {name: METRICS[name][answer] for name in (USUAL[answer] if names is None else names)}

        def make() -> dict[str, Tensor]:
            found = {"loss": self.loss.values(labels, outputs, **loss.options)}
            found |= {name: metric(labels, outputs) for name, metric in functions.items()}
            return {name: _by_example(value) for name, value in found.items()}

        return self.at(loss.keys, make)

    def with_penalties(self, loss: Tensor, predicting: list[Tensor]) -> Tensor:
        """The loss, and what weights cost: those that are multiplied, not what is added or scales.

        `predicting`: costs of weights, and of activities of the net that predicts, which do not count.
        """
        train = self.described.train
        of_weights = [cost for layer in self.layers for cost in layer.get_losses_for(None)]
        of_activities = [c for layer in self.layers for c in layer.losses if c not in predicting]
        costs = [*of_weights, *of_activities]
        weights = [v for layer in self.layers for v in layer.trainable_weights if len(v.shape) > 1]
        for key, cost in (("l1", abs), ("l2", square)):
            factor = getattr(train, key)
            if factor:
                make = partial(_penalty, factor, cost, weights)
                costs.append(self.at(("train", key), make))
        return self.at(self.described.loss.keys, lambda: identity(sum(costs, loss), name="total_loss"))

    def optimized(self, loss: Tensor, counter: Variable) -> tuple[Tensor, Operation]:
        """The learning rate, and the operation that takes a step."""
        chosen = self.described.optimizer
        options = dict(chosen.options)
        rate = self.rate(options, counter)
        if chosen.type == "adagrad_da":
            options["global_step"] = counter
        optimizer = OPTIMIZERS[chosen.type](**options | {"learning_rate": rate})
        pairs = optimizer.compute_gradients(loss)
        if (most := self.described.train.clip_norm) is not None:
            clipped, _ = clip_by_global_norm([g for g, _ in pairs], most)
            pairs = [(g, v) for g, (_, v) in zip(clipped, pairs, strict=True)]
        return rate, optimizer.apply_gradients(pairs, counter, name="step")

    def rate(self, options: dict[str, Any], counter: Variable) -> Tensor:
        """The learning rate of a step."""
        chosen, schedule = self.described.optimizer, self.described.schedule
        first = options.get("learning_rate")
        if first is None:
            first = _usual_rate(chosen)
        if schedule is None:
            return constant(first, float32, name="learning_rate")
        given = dict(schedule.options)
        made = SCHEDULES[schedule.type]
        if schedule.type == "piecewise_constant":
            return self.at(schedule.keys, lambda: made(counter, **given))
        if "decay_steps" in parameters(made):
            given.setdefault("decay_steps", self.steps)
        return self.at(schedule.keys, lambda: made(first, counter, **given))


def _penalty(factor: float, cost: Callable[[Any], Tensor], weights: list[Variable]) -> Tensor:
    return factor * add_n([reduce_sum(cost(v)) for v in weights])


def _usual_rate(chosen: Chosen) -> float:
    return float(inspect.signature(OPTIMIZERS[chosen.type]).parameters["learning_rate"].default)


def _object(key: str, value: Any) -> Any:
    """A value of a layer's key as the layer takes it: a table with a type is an object of Keras."""
    if isinstance(value, dict):
        settings = {name: given for name, given in value.items() if name != "type"}
        module = next(module for ending, module in _OBJECTS.items() if key.endswith(ending))
        return module.get({"class_name": value["type"], "config": settings})
    return value


def _by_example(value: Tensor) -> Tensor:
    """One number for each example: the mean where there are more."""
    axes = range(1, len(value.shape))
    return reduce_mean(value, list(axes)) if axes else value


def _size(variables: list[Any]) -> int:
    return int(sum(np.prod(v.shape.as_list(), dtype=np.int64) for v in variables))
