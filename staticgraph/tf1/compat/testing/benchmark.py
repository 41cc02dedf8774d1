"""`tf.test.Benchmark`: how long an operation takes in a session."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import staticgraph as sg


class Benchmark:
    """The base of classes whose methods measure operations."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Return True for this class itself, which measures nothing."""
        return cls is Benchmark

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session, or in a new one if there is none."""
        session = sg.get_default_session()
        return session.run(tensors) if session is not None else sg.Session().run(tensors)

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print what was measured; times are in seconds."""
        facts = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        known = {key: value for key, value in (facts | (extras or {})).items() if value is not None}
        print(name or type(self).__name__, *(f"{key}={value}" for key, value in known.items()))

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an operation `min_iters` times, after `burn_iters` that do not count; report the median.

        Times are in seconds. `mbs` is how many megabytes a run moves. Nothing is traced.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        middle = float(np.median(times))
        result: dict[str, Any] = {
            "extras": extras or {},
            "iters": min_iters,
            "name": name,
            "wall_time": middle,
            "throughput": mbs / middle if middle else 0.0,
        }
        self.report_benchmark(**result)
        return result


def benchmark_config() -> Any:
    """Return the `ConfigProto` of a session in which operations are measured: the default one."""
    return sg.ConfigProto()
