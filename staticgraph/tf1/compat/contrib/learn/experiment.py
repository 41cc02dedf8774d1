"""`tf.contrib.learn.Experiment`: an estimator with its inputs, and what is exported of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

__all__ = ["Experiment", "InputFnOps", "build_parsing_serving_input_fn"]

SCHEDULES = ("train_and_evaluate", "train", "evaluate", "test", "continuous_train_and_eval", "local_run")


class InputFnOps(NamedTuple):
    """Inputs of an exported model: its features, its labels or None, and the placeholders to feed."""

    features: Any
    labels: Any
    default_inputs: dict[str, Any]


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that gets features from serialised `Example` messages, a vector of strings."""
    receive = sg.estimator.export.build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size)

    def input_fn() -> InputFnOps:
        receiver = receive()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return input_fn


class Experiment:
    """An estimator, of `sg.estimator` or `contrib.learn`, with what it trains and is evaluated with.

    `train_steps` in all and `eval_steps` for each evaluation; None for the whole input. `train_monitors` and
    `eval_hooks`: hooks. `eval_metrics`: see `BaseEstimator.evaluate`. `min_eval_frequency`: the number of
    steps from one evaluation to the next; by default there is one at the end. `export_strategies` and what is
    about time and other processes change nothing.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[[], Any],
        eval_input_fn: Callable[[], Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:
        if export_strategies:
            text = "Experiment: export_strategies are not supported"
            hint = "use estimator.train_and_evaluate with exporters in its EvalSpec"
            raise misuse(NotImplementedError, text, hint)
        self.estimator = estimator
        self.eval_metrics = eval_metrics
        self.train_steps = train_steps
        self.eval_steps = eval_steps
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._train_hooks = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._every = min_eval_frequency or train_steps_per_iteration or local_eval_frequency

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        """Add hooks of training."""
        self._train_hooks += additional_hooks

    def train(self, delay_secs: float | None = None) -> Any:
        """Train; returns the estimator."""
        return self._train(self.train_steps)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """The metrics of the latest checkpoint."""
        metrics = {} if self.eval_metrics is None else {"metrics": self.eval_metrics}
        found: dict[str, Any] = self.estimator.evaluate(
            input_fn=self._eval_input_fn, steps=self.eval_steps, name=name, hooks=self._eval_hooks, **metrics
        )
        return found

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Train, with evaluations in between; returns the last metrics, and what was exported, which is
        nothing.
        """
        metrics: dict[str, Any] = {}
        if not self._every or self.train_steps is None:
            self._train(self.train_steps)
            return self.evaluate(), []
        for steps in (*range(self._every, self.train_steps, self._every), self.train_steps):
            self._train(steps)
            metrics = self.evaluate()
        return metrics, []

    continuous_train_and_eval = local_run = train_and_evaluate

    def test(self) -> tuple[dict[str, Any], list[Any]]:
        """Train for one step and evaluate, to see whether all works."""
        self._train(1)
        return self.evaluate(name="one_pass"), []

    def _train(self, steps: int | None) -> Any:
        if isinstance(self.estimator, sg.estimator.Estimator):
            return self.estimator.train(self._train_input_fn, self._train_hooks, max_steps=steps)
        return self.estimator.fit(input_fn=self._train_input_fn, max_steps=steps, monitors=self._train_hooks)
