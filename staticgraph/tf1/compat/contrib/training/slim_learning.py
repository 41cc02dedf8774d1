"""`tf.contrib.slim.learning`: training by a `Supervisor`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.training import train_op as general
from staticgraph.tf1.compat.contrib.training.train_op import (
    GLOBAL_STEP_OF_GRAPH,
    Pairs,
    clip_gradient_norms,
    multiply_gradients,
    summarized,
)
from staticgraph.tf1.compat.legacy import logging

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]

_DEFAULT = 0  # of arguments of `train`, for which None means nothing


def add_gradients_summaries(grads_and_vars: Pairs) -> list[sg.Tensor]:
    """Summarize each gradient, as a histogram and by its norm."""
    return summarized(grads_and_vars, "/")


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = GLOBAL_STEP_OF_GRAPH,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> sg.Tensor:
    """`create_train_op` with multipliers of gradients by variable, and a limit of each gradient's norm."""

    def transformed(pairs: Pairs) -> Pairs:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return general.create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transformed,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """Make one step of `slim.learning.train`, and return the loss and whether to stop.

    Args:
        sess: The session.
        train_op: The loss, whose computation makes a step.
        global_step: The tensor of the number of steps.
        train_step_kwargs: Tensors `should_stop` and `should_log`, each of which may be absent.
    """
    begin = time.perf_counter()
    loss, step = sess.run([train_op, global_step])
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        seconds = time.perf_counter() - begin
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = train_step_kwargs.get("should_stop")
    return loss, False if stop is None else sess.run(stop)


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _DEFAULT,
    init_feed_dict: dict[Any, Any] | None = None,
    local_init_op: Any = _DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _DEFAULT,
    summary_op: Any = _DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Train until `number_of_steps` steps are made, with checkpoints and summaries by a `Supervisor`.

    Args:
        train_op: The result of `create_train_op`.
        logdir: The folder of checkpoints and summaries; None writes none.
        train_step_fn: A function like `train_step`.
        train_step_kwargs: Its last argument; by default the tensors that stop and log.
        log_every_n_steps: How many steps are between two lines of the log; 0 for none.
        graph: The graph; that of `train_op` by default.
        global_step: The variable that counts steps; the graph's own by default.
        number_of_steps: How many steps there are in all, those of a restored checkpoint included; None for no
            end.
        init_op, init_feed_dict, local_init_op, init_fn, ready_op, summary_op, summary_writer, saver: As for
            `Supervisor`.
        save_summaries_secs, save_interval_secs: Seconds between two summaries, and two checkpoints.
        session_config: The configuration of the session.
        session_wrapper: A function that returns what is used in place of the session.
        master, is_chief, startup_delay_steps, sync_optimizer, trace_every_n_steps, ignore_live_threads: For
            several machines, and for traces; only their defaults are supported.

    Returns:
        The loss of the last step.

    Raises:
        ValueError: If `train_op` is None, `number_of_steps` is not positive, or an argument is not supported.
    """
    if train_op is None:
        raise misuse(ValueError, "train: train_op must not be None")
    if not is_chief or startup_delay_steps or sync_optimizer is not None or trace_every_n_steps is not None:
        text = "slim.learning.train: is_chief, startup_delay_steps, sync_optimizer and trace_every_n_steps"
        raise misuse(ValueError, f"{text} are supported with their defaults only")
    if number_of_steps is not None and number_of_steps <= 0:
        raise misuse(ValueError, f"train: number_of_steps={number_of_steps} must be positive")
    graph = graph or train_op.graph
    with graph.as_default():
        step = sg.train.get_or_create_global_step() if global_step is None else global_step
        saver = saver or sg.train.Saver()
        if train_step_kwargs == _DEFAULT:
            train_step_kwargs = _controls(step, number_of_steps, log_every_n_steps)
        given = {"init_op": init_op, "local_init_op": local_init_op, "ready_op": ready_op}
        given |= {"summary_op": summary_op, "summary_writer": summary_writer}
        supervisor = sg.train.Supervisor(
            graph=graph,
            logdir=logdir,
            init_feed_dict=init_feed_dict,
            init_fn=init_fn,
            global_step=step,
            saver=saver,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs,
            **{name: value for name, value in given.items() if value is not _DEFAULT},
        )
        with supervisor.managed_session(master, config=session_config) as session:
            used = session if session_wrapper is None else session_wrapper(session)
            loss = _last_loss(supervisor, lambda: train_step_fn(used, train_op, step, train_step_kwargs))
            if logdir:
                _save_last(supervisor, session)
    return loss


def _last_loss(supervisor: Any, step: Callable[[], tuple[Any, Any]]) -> Any:
    """Make steps until one says so, or the supervisor does, and return the loss of the last one."""
    loss, stop = None, False
    while not (stop or supervisor.should_stop()):
        loss, stop = step()
    return loss


def _save_last(supervisor: Any, session: Any) -> None:
    supervisor.stop(close_summary_writer=False)  # a thread that saves an older step comes first
    supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)


def _controls(step: Any, number_of_steps: int | None, log_every_n_steps: int) -> dict[str, Any]:
    """Return the tensors that tell a step when to stop and when to log."""
    made = {}
    with sg.name_scope("train_step"):
        if number_of_steps:
            made["should_stop"] = sg.greater_equal(step, number_of_steps)
        if log_every_n_steps > 0:
            every = sg.constant(log_every_n_steps, dtype=sg.as_dtype(step.dtype).base_dtype)
            made["should_log"] = sg.equal(sg.mod(step, every), 0)
    return made
