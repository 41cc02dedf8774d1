"""`tf.contrib.training`: evaluation of checkpoints in monitored sessions, and the hooks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.checkpoints.new_checkpoints import checkpoints_iterator, wait_for_new_checkpoint
from staticgraph.formats.tf.log import log

__all__ = [
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "checkpoints_iterator",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "wait_for_new_checkpoint",
]

_LOGS_OF_A_LONG_EVALUATION = 10


def get_or_create_eval_step() -> Any:
    """Return the local variable that counts the runs of an evaluation, of the collection EVAL_STEP.

    Raises:
        ValueError: The collection has several.
    """
    found = sg.get_collection(sg.GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise misuse(ValueError, f"the collection EVAL_STEP has {len(found)} variables, it may have one")
    if found:
        return found[0]
    return sg.get_variable(
        "eval_step",
        shape=[],
        dtype=sg.int64,
        initializer=sg.zeros_initializer(),
        trainable=False,
        collections=[sg.GraphKeys.LOCAL_VARIABLES, sg.GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(sg.train.SessionRunHook):
    """Hook that stops an evaluation after a number of runs.

    Args:
        num_evals: The number of runs; None to go on until the input ends.
        log_progress: Write to the log how many are done.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_every = (
            1 if num_evals is None or num_evals < 20 else num_evals // _LOGS_OF_A_LONG_EVALUATION
        )
        self._log_progress = log_progress
        self.completed: Any = None  # the counter after a run, set by who evaluates

    def before_run(self, run_context: Any) -> Any:
        return sg.train.SessionRunArgs(self.completed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done, wanted = int(run_values.results), self._num_evals
        if self._log_progress and (done % self._log_every == 0 or done == wanted):
            log.info("Evaluation [%s]", done if wanted is None else f"{done}/{wanted}")
        if wanted is not None and done >= wanted:
            run_context.request_stop()


class SummaryAtEndHook(sg.train.SessionRunHook):
    """Hook that writes summaries once, when a session ends.

    Args:
        log_dir: The folder of the event file.
        summary_writer: What writes it, instead of `log_dir`.
        summary_op: The summaries; by default all of the collection SUMMARIES.
        feed_dict: The feeds of the run that computes them.

    Raises:
        ValueError: There is neither a folder nor a writer.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise misuse(ValueError, "SummaryAtEndHook: pass one of log_dir and summary_writer")
        self._log_dir = log_dir or ""
        self._writer = summary_writer
        self._given_summary_op = summary_op
        self._feed_dict = feed_dict

    def begin(self) -> None:
        given = self._given_summary_op
        self._summary_op = sg.summary.merge_all() if given is None else given
        self._global_step = sg.train.get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._writer is None:
            self._writer = sg.summary.FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        if self._summary_op is not None:
            step = sg.train.global_step(session, self._global_step)
            self._writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._writer.flush()


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Sequence[Any] | None = None,
    config: Any = None,
) -> Any:
    """Run operations with the variables of a checkpoint, until a hook stops or the input ends.

    Args:
        checkpoint_path: The prefix of the checkpoint.
        master: As for `ChiefSessionCreator`.
        scaffold: A Scaffold; one of defaults if None.
        eval_ops: Tensors and operations of a run: one, a list or a dictionary. None for no run.
        feed_dict: The feeds of a run.
        final_ops: What is computed once at the end, nested in any way.
        final_ops_feed_dict: The feeds of that.
        hooks: Session hooks, such as a StopAfterNEvalsHook.
        config: The ConfigProto of the session.

    Returns:
        The values of `final_ops`; None without them.
    """
    evaluation = _Evaluation(eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    return evaluation.of(checkpoint_path, scaffold, master, config)


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[Any] | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """`evaluate_once` of each new checkpoint of a folder.

    Args:
        checkpoint_dir: The folder.
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config: As for
            `evaluate_once`.
        eval_interval_secs: The least number of seconds between two evaluations.
        max_number_of_evaluations: Return after so many; None for no limit.
        timeout: Return after so many seconds without a new checkpoint; None for no limit.
        timeout_fn: Called when that time is over; return only if it gives true.

    Returns:
        The values of `final_ops` of the last evaluation; None without one.
    """
    evaluation = _Evaluation(eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    values = None
    found = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, checkpoint in enumerate(found, 1):
        values = evaluation.of(checkpoint, scaffold, master, config)
        if number == max_number_of_evaluations:
            break
    return values


class _Evaluation:
    """Operations and hooks of evaluations, with the counter of their runs."""

    def __init__(
        self, eval_ops: Any, feed_dict: Any, final_ops: Any, final_feeds: Any, hooks: Sequence[Any] | None
    ) -> None:
        self._eval_ops, self._feed_dict = eval_ops, feed_dict
        self._final = sg.train.FinalOpsHook(final_ops, final_feeds)
        self._hooks = [*(hooks or ()), self._final]
        step = get_or_create_eval_step()
        if eval_ops is None:
            return
        ops = list(eval_ops.values()) if isinstance(eval_ops, Mapping) else eval_ops
        ops = list(ops) if isinstance(ops, list | tuple) else [ops]
        with sg.control_dependencies(ops):
            completed = sg.assign_add(step, 1)
        for hook in self._hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook.completed = completed
        self._eval_ops = [*ops, completed]

    def of(self, checkpoint: str | None, scaffold: Any, master: str, config: Any) -> Any:
        """The values of the final operations with a checkpoint."""
        creator = sg.train.ChiefSessionCreator(
            scaffold, master=master, config=config, checkpoint_filename_with_path=checkpoint
        )
        with sg.train.MonitoredSession(creator, self._hooks) as session:
            while self._eval_ops is not None and not session.should_stop():
                session.run(self._eval_ops, self._feed_dict)
        return self._final.final_ops_values
