"""Evaluations in the middle of a training, with the variables as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph import train
from staticgraph.building.framework import Graph, GraphKeys, get_collection
from staticgraph.building.inputs import group, placeholder
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.estimator import evaluation
from staticgraph.tf1.estimator.estimator import Estimator


class InMemoryEvaluatorHook(train.SessionRunHook):
    """Evaluate a model before, while and after it trains, without a checkpoint.

    The results are written to `estimator.eval_dir(name)`.

    Args:
        estimator: The estimator that trains.
        input_fn: The data, as `estimator.evaluate` takes them.
        steps: The number of batches. Default: all.
        hooks: Hooks of the evaluation.
        name: The name of the evaluation.
        every_n_iter: The training steps between two evaluations.

    Raises:
        ValueError: `every_n_iter` is below 1; or, when the training begins, the model has a saver or a
            function for initialization of its own.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Any = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise misuse(ValueError, f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_worker_replicas > 1:
            text = "InMemoryEvaluator supports only single machine (aka Local) setting."
            raise misuse(ValueError, text)
        self._estimator, self._input_fn = estimator, input_fn
        self._given = [*(hooks or ()), *([] if steps is None else [evaluation.StopAfterBatches(steps)])]
        self._folder = estimator.eval_dir(name)
        self._timer = train.SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._done = 0
        self._graph = Graph()
        with self._graph.as_default():
            built = self._estimator.built_evaluation(self._input_fn, self._given)
            self._update, self._values, self._scaffold, self._hooks = built
            if self._scaffold.saver is not None or self._scaffold.init_fn is not None:
                raise misuse(ValueError, "InMemoryEvaluator does not support custom saver or init_fn")
            self._mine = _global_variables()
            self._feeds = {name: placeholder(v.dtype, v.shape) for name, v in self._mine.items()}

    def after_create_session(self, session: Any, coord: Any) -> None:
        known = _global_variables()
        self._trained = {name: v for name, v in known.items() if name in self._mine}
        with self._graph.as_default():
            self._take = group(*(self._mine[name].assign(self._feeds[name]) for name in self._trained))
        self._evaluate(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._done += 1
        if self._timer.should_trigger_for_step(self._done):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        values = session.run(self._trained)
        feeds = {self._feeds[name]: value for name, value in values.items()}

        def take(scaffold: Any, session: Any) -> None:
            session.run(self._take, feeds)

        config = self._estimator.config
        with self._graph.as_default():
            scaffold = train.Scaffold(init_fn=take, copy_from_scaffold=self._scaffold)
            found = evaluation.evaluate_once(self._update, self._values, scaffold, self._hooks, None, config)
        evaluation.write_results(self._folder, found, None)
        self._timer.update_last_triggered_step(self._done)


def _global_variables() -> dict[str, Any]:
    return {v.name: v for v in get_collection(GraphKeys.GLOBAL_VARIABLES)}
