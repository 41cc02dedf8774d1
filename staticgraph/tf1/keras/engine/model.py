"""`Model`: a network that can be trained, evaluated and saved.

Targets that do not fit its outputs are refused: they would be broadcast, and teach it something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.building.inputs import group
from staticgraph.compiler.graph.errors import FeedError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import replace
from staticgraph.formats.tf.log import log
from staticgraph.tf1.distribute.strategy import get_strategy
from staticgraph.tf1.keras import losses, optimizers, state
from staticgraph.tf1.keras.engine import loops, objective
from staticgraph.tf1.keras.engine.data import arrays_for, count_samples, sample_weights
from staticgraph.tf1.keras.engine.graph_batches import computed, is_of_graph
from staticgraph.tf1.keras.engine.input_layer import Input, inputs_like
from staticgraph.tf1.keras.engine.network import Network
from staticgraph.tf1.keras.engine.structure import leaves, mapped, single
from staticgraph.tf1.keras.saving import files
from staticgraph.train.optimizers.optimizer import exchanging, present


class Model(loops.Loops, Network):
    """Layers with an optimizer, losses and metrics: `compile`, then `fit`, `evaluate` and `predict`.

    Either a graph, `Model(inputs, outputs)`, of one or many inputs and outputs, or a subclass that makes its
    layers as attributes and defines `call(inputs)`. A subclass is built when it first sees data.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> x = sg.keras.Input([3])
    >>> model = sg.keras.Model(x, sg.keras.layers.Dense(1, kernel_initializer="ones")(x))
    >>> model.compile("sgd", "mse")
    >>> model.predict(np.array([[1.0, 2.0, 3.0]]))
    array([[6.]], dtype=float32)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.optimizer: Any = None
        self.stop_training = False
        self.history: Any = None
        self._training: dict[str, Any] = {}
        self._strategy: Any = None
        self.run_eagerly = False

    # Compiling

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Say how to train.

        `loss`, `loss_weights` and `metrics` are for all outputs, or lists or dicts with one entry per output.
        `weighted_metrics` take the weights of samples into account, `metrics` do not. "accuracy" is the one
        that fits the output and its loss. `sample_weight_mode="temporal"` announces weights per time step;
        weights of two axes are understood without it.
        """
        self.optimizer = optimizers.get(optimizer)
        self.loss, self.loss_weights = loss, loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._training = {
            "arguments": (loss, loss_weights, metrics, weighted_metrics, target_tensors),
            "functions": {},
            "exchange": present(),
        }
        self._strategy = get_strategy()
        if self.outputs:
            self._prepare()

    def _prepare(self) -> None:
        """Make targets and metrics, now that the outputs are known."""
        with self._graph.as_default():
            loss, weights, chosen, weighted, targets = self._training["arguments"]
            self._training["outputs"] = objective.make_outputs(self, loss, weights, chosen, weighted, targets)
            self._training["extra"] = objective.watched(self._watched())
            # Layers that are frozen later, as in adversarial training, are still trained by this model.
            self._training["weights"] = self.trainable_weights
            self._training["updates"] = self.updates

    @property
    def _graph(self) -> Any:
        return self.outputs[0].graph

    def _compiled(self, key: str) -> Any:
        if key not in self._training:
            what = "built: it has not seen data yet" if self._training else "compiled: call compile() first"
            raise misuse(RuntimeError, f"model {self.name} is not {what}")
        return self._training[key]

    @property
    def _metric_objects(self) -> list[Any]:
        """The metrics in the order in which they are reported."""
        outputs = self._training.get("outputs", ())
        means = [o.mean_loss for o in outputs if o.mean_loss is not None]
        of_outputs = [metric for o in outputs for metric, _ in o.metrics]
        return [*means, *of_outputs, *(each.metric for each in self._training.get("extra", ()))]

    @property
    def metrics(self) -> list[Any]:
        """The metrics that `compile` was told, and those of layers."""
        return self._metric_objects if self._training else super().metrics

    @property
    def metrics_names(self) -> list[str]:
        """The names of what `evaluate` gives: the loss, then the metrics."""
        return ["loss", *(metric.name for metric in self._metric_objects)]

    @property
    def total_loss(self) -> Tensor:
        """The loss that training minimises if samples have no weights."""
        return self._objective([None] * len(self.outputs)).total

    @property
    def targets(self) -> list[Any]:
        """The placeholders of the targets."""
        return [o.target for o in self._compiled("outputs") if o.target is not None]

    @property
    def sample_weights(self) -> list[Any]:
        """The placeholders of weights of samples: made when they are first given."""
        return [w for made in self._training.get("objectives", {}).values() for w in made.weights]

    def reset_metrics(self) -> None:
        """Begin to measure anew."""
        for metric in self._metric_objects:
            metric.reset_states()

    # Building what was not given inputs and outputs

    def build(self, input_shape: Any = None) -> None:
        """Make all weights of a subclass, for inputs of this shape, or of a list of shapes."""
        self.built = True
        if self.outputs or input_shape is None or type(self).build is not Model.build:
            return
        several = isinstance(input_shape, list) or (input_shape and isinstance(input_shape[0], tuple | list))
        shapes = input_shape if several else [input_shape]
        self._begin([Input(sizes, batch) for batch, *sizes in shapes])

    def _build_once(self, inputs: Any) -> None:
        if type(self).build is Model.build:
            self.built = True  # its layers build themselves when `call` uses them
        super()._build_once(inputs)

    def _begin(self, given: list[Any] | dict[str, Any]) -> None:
        """Take `given` for the inputs, and what the subclass makes of them for the outputs."""
        extra = {"training": state.learning_phase()} if "training" in self._parameters else {}
        named = isinstance(given, dict)
        outputs = self(given if named else single(given), **extra)  # type: ignore[arg-type]
        self.inputs, self.outputs = list(leaves(given)), list(leaves(outputs))
        self.input_names = sorted(given) if named else [f"input_{i + 1}" for i in range(len(given))]
        self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]

    def _see(self, x: Any) -> None:
        """Build from the shapes of the first data, unless it is built, and prepare what `compile` told."""
        if not self.outputs:
            several = isinstance(x, list | tuple) and bool(x) and hasattr(x[0], "shape")
            self._build_for(mapped(np.asarray, x if several or isinstance(x, dict) else [x]))
        if "arguments" in self._training and "outputs" not in self._training:  # compiled before it was built
            self._prepare()

    def _build_for(self, arrays: Any) -> None:
        """Build for inputs like the arrays of a list, or of a dict by names."""
        self._begin(inputs_like(arrays))

    # Functions of arrays

    def _objective(self, ranks: Sequence[int | None], is_trained: bool = False) -> objective.Objective:
        made = self._training.setdefault("objectives", {})
        key = (is_trained and self._has_replicas, *ranks)
        if key not in made:
            with self._graph.as_default():
                outputs, extra = self._compiled("outputs"), self._compiled("extra")
                losses = self.losses
                if key[0]:
                    of_all = self._of_replicas()
                    pairs = zip(outputs, of_all.tensors, strict=True)
                    outputs, losses = [replace(o, tensor=tensor) for o, tensor in pairs], of_all.losses
                made[key] = objective.build(losses, outputs, extra, ranks)
        return made[key]

    @property
    def _has_replicas(self) -> bool:
        """True if several replicas train: none of a model whose layers remember the batch before."""
        return getattr(self._strategy, "num_replicas_in_sync", 1) > 1 and not self.state_updates

    def _of_replicas(self) -> Any:
        if "replicas" not in self._training:
            from staticgraph.tf1.keras.engine.replicated import outputs_of_replicas  # few models have some

            with self._strategy.scope():
                self._training["replicas"] = outputs_of_replicas(self, self._strategy)
        return self._training["replicas"]

    def _function(self, kind: str, ranks: Sequence[int | None] = ()) -> Callable[..., list[Any]]:
        """A prepared function: from the arrays of inputs, targets and weights to what a step gives.

        `kind`: "train", "test" or "predict". One call of compiled code runs the whole step.
        """
        functions = self._training.setdefault("functions", {})
        key = kind, tuple(ranks)
        with self._graph.as_default():
            if key not in functions:
                functions[key] = self._step(kind, ranks)
            fetches, feeds = functions[key]
            state.track(*self.weights)
            session = state.get_session()
            prepared = self._training.setdefault("prepared", {})
            phase = state.phase_placeholder(self._graph)
            known, call = prepared.get((key, phase), (None, None))
            if known is not session:
                call = session.make_callable(fetches, [*feeds, *([] if phase is None else [phase])])
                prepared[key, phase] = session, call
        count = len(fetches) - 1
        last = () if phase is None else (np.bool_(kind == "train"),)
        return lambda arrays: call(*arrays, *last)[:count]

    def _step(self, kind: str, ranks: Sequence[int | None]) -> tuple[list[Any], list[Tensor]]:
        """Return the fetches of a step, with the operations last, and the tensors to feed."""
        fed = self._fed_inputs()
        if kind == "predict":
            return [*self.outputs, group(*self.state_updates)], fed
        goal = self._objective(ranks, kind == "train")
        operations = [goal.updates]
        if kind == "train":
            if not self._compiled("weights"):
                log.warning("model %s has no trainable weights: steps of training change none", self.name)
            with exchanging(self._training["exchange"]):
                operations += self.optimizer.get_updates(goal.total, self._compiled("weights"))
            operations += self._of_replicas().updates if self._has_replicas else self._compiled("updates")
        else:
            operations += self.state_updates
        return [goal.total, *goal.results, group(*operations)], [*fed, *goal.fed, *goal.weights]

    def _fed_inputs(self) -> list[Tensor]:
        return [t for t in self.inputs if t.op.definition.name == "placeholder"]

    def _arrays(
        self, x: Any, y: Any, sample_weight: Any, class_weight: Any = None
    ) -> tuple[list[Any], list[int | None]]:
        """The arrays of a step, and how many axes the weights of each output have."""
        self._see(x)
        outputs = self._compiled("outputs")
        made = arrays_for(x, self.input_names, self._fed_inputs(), "x") if self._fed_inputs() else []
        wanted = [o for o in outputs if o.target is not None and o.target.op.definition.name == "placeholder"]
        names = [o.name for o in wanted]
        if y is None and wanted:
            raise misuse(ValueError, f"model {self.name} needs targets for {', '.join(names)}: give y")
        if isinstance(y, list | tuple) and len(y) == len(outputs) > len(wanted):
            y = [each for each, o in zip(y, outputs, strict=True) if o in wanted]
        targets = arrays_for(y, names, [o.target for o in wanted], "y") if wanted else []
        check_targets(wanted, targets)
        weights = sample_weights(sample_weight, class_weight, names, targets)
        by_name = dict(zip(names, weights, strict=True))
        found = [by_name.get(o.name) for o in outputs]
        arrays = [*made, *targets, *(w for w in weights if w is not None)]
        count_samples(arrays, "x, y and weights")
        return arrays, [None if w is None else w.ndim for w in found]

    # Single batches

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One training step; gives the loss, and the metrics where there are some."""
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """The loss and the metrics of one batch."""
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics)

    def _on_batch(
        self, kind: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, reset_metrics: bool
    ) -> Any:
        if is_of_graph(x):
            x, y, sample_weight = loops.parts(computed(loops.source(x, y, sample_weight)))
        arrays, ranks = self._arrays(x, y, sample_weight, class_weight)
        if reset_metrics:  # before, and after, so that a batch counts alone whatever comes next
            self.reset_metrics()
        made = self._function(kind, ranks)(arrays)
        if reset_metrics:
            self.reset_metrics()
        return single(list(made))

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch."""
        x = computed(x) if is_of_graph(x) else x
        self._see(x)
        arrays = arrays_for(x, self.input_names, self._fed_inputs(), "x")
        return single(list(self._function("predict")(arrays)))

    # Files

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: Any = None,
        signatures: Any = None,
    ) -> None:
        """Write the architecture, the weights and how it is trained: see `keras.models.load_model`."""
        files.save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: Any = None) -> None:
        """Write the weights alone."""
        files.save_weights(self, filepath, overwrite, save_format)

    def load_weights(self, filepath: Any, by_name: bool = False) -> None:
        """Read weights that `save_weights` or `save` wrote; `by_name`: of layers of equal names."""
        files.load_weights(self, filepath, by_name)

    def to_json(self, **kwargs: Any) -> str:
        """The architecture as JSON: see `keras.models.model_from_json`."""
        return files.to_json(self, **kwargs)


# The losses for which TF1 compares shapes; with others, broadcasting may be meant.
_COMPARED = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)


def check_targets(outputs: Sequence[Any], targets: Sequence[np.ndarray]) -> None:
    """Raise FeedError, a ValueError, for targets that do not fit their output and its loss.

    Args:
        outputs: The `Output`s of a model that are trained.
        targets: An array for each of them, of the rank of the output.
    """
    for output, target in zip(outputs, targets, strict=True):
        if getattr(output.loss, "fn", None) in _COMPARED:
            _check(output, list(target.shape))


def _check(output: Any, shape: list[int]) -> None:
    wanted = output.tensor.shape
    sizes = wanted.as_list()[1:] if wanted.ndims is not None else []
    if output.loss.fn is losses.categorical_crossentropy and shape[-1] == 1:
        what = f"y: the targets have shape {shape}, and categorical_crossentropy takes rows of classes"
        hint = "numbers of classes go with sparse_categorical_crossentropy; utils.to_categorical makes rows"
    elif any(n not in (None, m) for m, n in zip(shape[1:], sizes, strict=False)):
        what = f"y: the targets have shape {shape}, and the output {output.name} has {wanted}"
        hint = f"{output.loss.name} needs equal shapes: let the last layer have as many units as a target"
    else:
        return
    raise misuse(FeedError, what, hint, made=[(output.name, output.tensor.op.where)])
