"""`tf.contrib.slim.evaluation`: `tf.contrib.training`'s evaluation, with a number of runs and summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.training import evaluation as general
from staticgraph.tf1.compat.contrib.training.evaluation import checkpoints_iterator, wait_for_new_checkpoint

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

_MERGE_ALL = 0  # TensorFlow's default: None means that there are no summaries


def _hooks(num_evals: int, logdir: Any, summary_op: Any, feeds: Any, more: Sequence[Any] | None) -> list[Any]:
    if summary_op is _MERGE_ALL:
        summary_op = sg.summary.merge_all()
    hooks: list[Any] = [general.StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        hooks.append(general.SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feeds))
    return hooks + list(more or ())


def _saver(variables: Any) -> Any:
    return None if variables is None else sg.train.Saver(variables)


def evaluate_once(
    master: str,
    checkpoint_path: str | None,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _MERGE_ALL,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Sequence[Any] | None = None,
) -> Any:
    """Run an operation a number of times with the variables of a checkpoint, then another once.

    Args:
        master: As for `Session`; "" here.
        checkpoint_path: The prefix of the checkpoint.
        logdir: The folder for summaries.
        num_evals: How often `eval_op` is run.
        initial_op: Run first, instead of the initializers of variables.
        initial_op_feed_dict: The feeds of it.
        eval_op: What is run again and again; None for nothing.
        eval_op_feed_dict: The feeds of it.
        final_op: What is run at the end.
        final_op_feed_dict: The feeds of it.
        summary_op: The summaries that are written at the end; by default all, None for none.
        summary_op_feed_dict: The feeds of them.
        variables_to_restore: The variables that the checkpoint has, as for `Saver`; by default all.
        session_config: A ConfigProto.
        hooks: More session hooks.

    Returns:
        The value of `final_op`; None without one.
    """
    scaffold = sg.train.Scaffold(
        init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=_saver(variables_to_restore)
    )
    return general.evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=scaffold,
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Callable[[Any, Any], None] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _MERGE_ALL,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Sequence[Any] | None = None,
) -> Any:
    """`evaluate_once` of each new checkpoint of a folder.

    Args:
        master, logdir, num_evals, initial_op, initial_op_feed_dict, eval_op, eval_op_feed_dict, final_op,
            final_op_feed_dict, summary_op, summary_op_feed_dict, variables_to_restore, session_config, hooks:
            As for `evaluate_once`.
        checkpoint_dir: The folder.
        init_fn: Called with the scaffold and the session if no checkpoint is restored.
        eval_interval_secs, max_number_of_evaluations, timeout, timeout_fn: As for
            `tf.contrib.training.evaluate_repeatedly`.

    Returns:
        The value of `final_op` of the last evaluation; None without one.
    """
    scaffold = sg.train.Scaffold(
        init_op=initial_op,
        init_feed_dict=initial_op_feed_dict,
        init_fn=init_fn,
        saver=_saver(variables_to_restore),
    )
    return general.evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=scaffold,
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
