"""`tf.contrib.training.train`: a loop around a training step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
) -> Any:
    """Run `train_op` in a MonitoredTrainingSession until a hook stops it.

    Args:
        train_op: What is run in each step, such as the result of `create_train_op`.
        logdir: The folder of checkpoints and summaries; None for none, which needs a hook that stops.
        master, is_chief, scaffold, chief_only_hooks, save_checkpoint_secs, save_summaries_steps, config,
            max_wait_secs: As for `MonitoredTrainingSession`.
        hooks: Session hooks.

    Returns:
        What the last step gave; None if there was no step.

    Raises:
        ValueError: If there is neither a folder nor a hook, which would never end.
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        text = "train: logdir is None, and summaries or checkpoints are asked for"
        raise misuse(ValueError, text, "pass save_summaries_steps=None and save_checkpoint_secs=None")
    last = None
    with sg.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            last = session.run(train_op)
    return last
