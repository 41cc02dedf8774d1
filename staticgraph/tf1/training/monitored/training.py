"""`MonitoredTrainingSession`: a monitored session with the hooks that training usually wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from staticgraph.compiler.graph.checks.arguments import list_of, real_of
from staticgraph.tf1.training.hooks.checkpoints import CheckpointSaverHook
from staticgraph.tf1.training.hooks.run_hook import SessionRunHook
from staticgraph.tf1.training.hooks.summaries import StepCounterHook, SummarySaverHook
from staticgraph.tf1.training.monitored.creators import ChiefSessionCreator, WorkerSessionCreator
from staticgraph.tf1.training.monitored.scaffold import Scaffold
from staticgraph.tf1.training.monitored.session import MonitoredSession

_USE_DEFAULT: Final[Any] = object()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = _USE_DEFAULT,
    save_summaries_steps: int | None = _USE_DEFAULT,
    save_summaries_secs: float | None = _USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = _USE_DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """A `MonitoredSession` that restores the latest checkpoint, saves new ones, and writes summaries.

    `checkpoint_dir`: where checkpoints are; without it none are read or written. `save_checkpoint_secs` or
    `save_checkpoint_steps`: how often, every 600 seconds by default. `summary_dir`: where event files are
    written, `checkpoint_dir` by default. `save_summaries_steps` or `save_summaries_secs`: how often the
    scaffold's summaries are, every 100 steps by default. `log_step_count_steps`: how often the steps per
    second are. None or 0 switches each of them off. `hooks` come after the hooks for this;
    `chief_only_hooks` before. `scaffold`: the operations that make the graph ready.

    With `is_chief=False` it saves nothing, and waits `max_wait_secs` for others to initialise the variables.
    If several processes were started together, each has its own variables and initialises them.

    >>> import staticgraph as sg, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> step = sg.train.get_or_create_global_step().assign_add(1)
    >>> for last_step in 2, 4:
    ...     hooks = [sg.train.StopAtStepHook(last_step=last_step)]
    ...     with sg.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as sess:
    ...         while not sess.should_stop():
    ...             print(sess.run(step))
    1
    2
    3
    4
    """
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    scaffold = scaffold or Scaffold()
    summary_dir = summary_dir or checkpoint_dir
    added: list[SessionRunHook] = []
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        added.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
    for secs, steps in _interval(save_summaries_secs, save_summaries_steps, (None, 100)):
        if summary_dir:
            added.append(SummarySaverHook(steps, secs, summary_dir, scaffold=scaffold))
    for secs, steps in _interval(save_checkpoint_secs, save_checkpoint_steps, (600, None)):
        if checkpoint_dir:
            added.append(CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=scaffold))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    every = [*list_of(chief_only_hooks or (), "chief_only_hooks"), *added, *list_of(hooks or (), "hooks")]
    return MonitoredSession(creator, every, stop_grace_period_secs)


def _interval(
    secs: float | None, steps: int | None, default: tuple[float | None, int | None]
) -> Iterator[tuple[float | None, int | None]]:
    """Seconds and steps between two actions, nothing where there are to be none.

    `default` counts where neither is given.
    """
    if secs is _USE_DEFAULT and steps is _USE_DEFAULT:
        secs, steps = default
    secs = None if secs is _USE_DEFAULT else secs
    steps = None if steps is _USE_DEFAULT else steps
    if any(real_of(0 if given is None else given, "an interval") > 0 for given in (secs, steps)):
        yield secs, steps
