"""`train_and_evaluate`: training with evaluations in between, whenever there is a new checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from staticgraph import train
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.exporters import Exporter


class _Train(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[Any, ...]


class TrainSpec(_Train):
    """Specification of training: its input, its length and its hooks.

    Args:
        input_fn: The input function.
        max_steps: The number of steps in all. None, the default, means to the end of the input.
        hooks: Hooks of the session.

    Raises:
        TypeError: `input_fn` is not callable, or an item of `hooks` is not a hook.
        ValueError: `max_steps` is not positive.
    """

    __slots__ = ()

    def __new__(
        cls, input_fn: Callable[..., Any], max_steps: int | None = None, hooks: Any = None
    ) -> TrainSpec:
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise misuse(ValueError, f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _checked(hooks, train.SessionRunHook, "hooks"))


class _Eval(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[Any, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_Eval):
    """Specification of evaluations: their input, their length, their name, their hooks and exporters.

    Args:
        input_fn: The input function.
        steps: The number of batches of an evaluation, 100 by default. None means all.
        name: The name of the results.
        hooks: Hooks of the session.
        exporters: One or several `Exporter`s, called after each evaluation.
        start_delay_secs: No effect: there is no other process to wait for.
        throttle_secs: The least time from one evaluation to the next, in seconds; 600 by default.

    Raises:
        TypeError: `input_fn` is not callable, or an item of `hooks` or `exporters` is of another type.
        ValueError: `steps` is not positive, or a time is negative.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Any = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise misuse(ValueError, f"Must specify steps > 0, given: {steps}")
        for what, seconds in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            if seconds < 0:
                raise misuse(ValueError, f"Must specify {what} >= 0, given: {seconds}")
        listed = [exporters] if isinstance(exporters, Exporter) else exporters
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            _checked(hooks, train.SessionRunHook, "hooks"),
            _checked(listed, Exporter, "exporters"),
            start_delay_secs,
            throttle_secs,
        )


class _Evaluator(train.CheckpointSaverListener):
    """Evaluates each new checkpoint, unless the last evaluation is too near."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._max_steps = max_steps
        self._evaluated: str | None = None
        self.metrics: dict[str, Any] | None = None
        self.exported: list[Any] = []

    def begin(self) -> None:
        self._timer = train.SecondOrStepTimer(every_secs=self._spec.throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        if self._is_first:  # where training begins, nothing is learned yet
            self._is_first = False
            return None
        if not self._timer.should_trigger_for_step(global_step_value):
            log.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).", self._spec.throttle_secs
            )
            return None
        self._timer.update_last_triggered_step(global_step_value)
        return self._evaluate()

    def end(self, session: Any, global_step_value: int) -> None:
        self._evaluate()

    def _evaluate(self) -> bool:
        """Evaluate the latest checkpoint and export it; returns whether training is complete."""
        checkpoint = self._estimator.latest_checkpoint()
        if checkpoint is None or checkpoint == self._evaluated:
            return False
        spec, self._evaluated = self._spec, checkpoint
        config, given = self._estimator.config, (spec.input_fn, spec.steps, spec.hooks, checkpoint, spec.name)
        strategy = config.eval_distribute if config.num_worker_replicas == 1 else None  # the others wait
        self.metrics = self._estimator.evaluate_with(strategy, *given)
        is_final = self._max_steps is not None and self.metrics["global_step"] >= self._max_steps
        folder = os.path.join(self._estimator.model_dir, "export")
        self.exported = [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(folder, exporter.name),
                checkpoint_path=checkpoint,
                eval_result=self.metrics,
                is_the_final_export=is_final,
            )
            for exporter in spec.exporters
        ]
        return is_final


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[Any, list[Any]]:
    """Train, and evaluate after each checkpoint and at the end.

    With a strategy of several processes, the first one saves, evaluates and exports, while the others wait.

    The intervals between checkpoints are those of the estimator's `RunConfig`. Returns the last metrics and
    the last exports; None for the metrics where nothing was left to train. TypeError for specifications
    that are none, ValueError if no checkpoints are saved.
    """
    for given, kind in ((train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(given, kind):
            text = f"`{kind.__name__}` must be given to train_and_evaluate, and not {given!r}"
            raise misuse(TypeError, text)
    config = estimator.config
    if not (config.save_checkpoints_steps or config.save_checkpoints_secs):
        text = "train_and_evaluate evaluates checkpoints, and the estimator's RunConfig saves none"
        raise misuse(ValueError, text, "RunConfig(save_checkpoints_steps=...)")
    if config.num_worker_replicas == 1:
        log.info("Running training and evaluation locally (non-distributed).")
    log.info(
        "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency"
        " is determined based on RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.",
        config.save_checkpoints_steps,
        config.save_checkpoints_secs,
    )
    evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn,
        hooks=train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[evaluator],
    )
    return evaluator.metrics, evaluator.exported


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise misuse(TypeError, f"`input_fn` must be callable, given: {input_fn!r}")


def _checked(given: Any, kind: type[Any], what: str) -> tuple[Any, ...]:
    items = tuple(given or ())
    for item in items:
        if not isinstance(item, kind):
            raise misuse(TypeError, f"All {what} must be `{kind.__name__}` instances, given: {item!r}")
    return items
