"""Evaluation of a model: metrics over batches, in a session of their own, and a record of their values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph import train
from staticgraph.building.inputs import group
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1 import metrics as streaming
from staticgraph.tf1 import summary
from staticgraph.tf1.estimator.spec import EstimatorSpec
from staticgraph.tf1.summary import encode

_TIME = "%Y-%m-%dT%H:%M:%SZ"


class StopAfterBatches(train.SessionRunHook):
    """Asks for a stop after a number of batches, and says how many are done."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._log_every = 1 if count < 20 else count // 10

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._done = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._done += 1
        if self._done % self._log_every == 0 or self._done == self._count:
            log.info("Evaluation [%d/%d]", self._done, self._count)
        if self._done >= self._count:
            run_context.request_stop()


def metrics_of(spec: EstimatorSpec) -> tuple[Any, dict[str, Any]]:
    """The operation that takes a batch into all metrics, and their values by name."""
    if "loss" in spec.eval_metric_ops:
        text = "Metric with name 'loss' is not allowed, because Estimator already defines one."
        raise misuse(ValueError, text)
    metrics = spec.eval_metric_ops | {"loss": streaming.mean(spec.loss)}
    ordered = [metrics[name] for name in sorted(metrics)]
    return group(*(update for _, update in ordered)), {name: metric[0] for name, metric in metrics.items()}


def evaluate_once(
    update: Any,
    values: Mapping[str, Any],
    scaffold: Any,
    hooks: Sequence[Any],
    checkpoint: str | None,
    config: Any,
) -> dict[str, Any]:
    """The values of metrics after all batches, with the variables of a checkpoint."""
    final = train.FinalOpsHook(dict(values))
    log.info("Starting evaluation at %s", time.strftime(_TIME, time.localtime()))
    creator = train.ChiefSessionCreator(
        scaffold, config=config.session_config, checkpoint_filename_with_path=checkpoint
    )
    begun = time.time()
    with train.MonitoredSession(creator, [*hooks, final]) as session:
        while not session.should_stop():
            session.run(update)
    log.info("Inference Time : %0.5fs", time.time() - begun)
    log.info("Finished evaluation at %s", time.strftime(_TIME, time.localtime()))
    found: dict[str, Any] = final.final_ops_values
    return found


def write_results(folder: str, results: Mapping[str, Any], checkpoint: str | None) -> None:
    """Write the values of metrics to an event file, and to the log."""
    step = results["global_step"]
    shown = ", ".join(f"{k} = {v}" for k, v in sorted(results.items()) if not isinstance(v, bytes))
    log.info("Saving dict for global step %d: %s", step, shown)
    writer = summary.FileWriterCache.get(folder)
    written = summary.Summary()
    for key, value in results.items():
        if key == "global_step":
            continue
        if isinstance(value, bytes):
            written.value.extend(_renamed(key, value))
        elif isinstance(value, int | float | np.number):
            written.value.add(tag=key, simple_value=float(value))
        else:
            log.warning(
                "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int.", key
            )
    writer.add_summary(written, step)
    if checkpoint:
        log.info("Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint)
        writer.add_summary(encode.text("checkpoint_path", checkpoint), step)
    writer.flush()


def _renamed(key: str, serialized: bytes) -> list[Any]:
    """The values of a summary that is a metric, under the metric's name."""
    values = summary.Summary.FromString(serialized).value
    for number, value in enumerate(values):
        value.tag = f"{key}/{number}"
    return list(values)
