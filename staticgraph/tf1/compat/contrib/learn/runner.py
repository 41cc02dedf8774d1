"""`tf.contrib.learn.learn_runner`: runs an `Experiment`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.learn.experiment import SCHEDULES, Experiment

__all__ = ["run"]


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """The result of a method of the experiment, by default `train_and_evaluate`.

    `experiment_fn(output_dir)` or `experiment_fn(run_config, hparams)` makes the experiment. ValueError for
    both kinds of setting or none, and for another schedule.
    """
    if (output_dir is None) == (run_config is None):
        raise misuse(ValueError, "learn_runner.run: give one of output_dir and run_config")
    experiment = experiment_fn(output_dir) if run_config is None else experiment_fn(run_config, hparams)
    wanted = schedule or "train_and_evaluate"
    if wanted not in SCHEDULES:
        text = f"Schedule references non-existent task {wanted}"
        raise misuse(ValueError, text, f"one of {', '.join(SCHEDULES)}")
    return getattr(experiment, wanted)()
