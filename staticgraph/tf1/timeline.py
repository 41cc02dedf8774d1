"""`Timeline`: what a run reported of itself, for Chrome's `about:tracing`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from staticgraph.formats.tf.messages.step_stats import NodeExecStats, StepStats

_LABEL = re.compile(r"(?P<name>.*) = (?P<op>.*)\((?P<inputs>.*)\)")


class _Trace:
    """The events of a trace."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.events = events

    def format_to_string(self, pretty: bool = False) -> str:
        """The trace as JSON; `pretty`: on many lines."""
        return json.dumps({"traceEvents": self.events}, indent=4 if pretty else None)


class StepStatsAnalysis(NamedTuple):
    """A trace, and the most memory of each allocator: a run allocates nothing here, so there are none."""

    chrome_trace: _Trace
    allocator_maximums: dict[str, Any]


class Timeline:
    """The times of a run's parts, from the `step_stats` of its `RunMetadata`; `graph` is not needed.

    >>> import staticgraph as sg
    >>> x, metadata = sg.constant([1.0, 2.0]), sg.RunMetadata()
    >>> options = sg.RunOptions(trace_level=sg.RunOptions.FULL_TRACE)
    >>> with sg.Session() as sess:
    ...     value = sess.run(sg.random.uniform([4]), options=options, run_metadata=metadata)
    >>> trace = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())
    >>> [event["name"] for event in trace["traceEvents"]]
    ['process_name', 'random_uniform']
    """

    def __init__(self, step_stats: StepStats, graph: Any = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON. Devices are its processes, and threads its threads. There is no flow of tensors
        between kernels and no allocation of memory to show: the two arguments change nothing.
        """
        return self.analyze_step_stats(show_dataflow, show_memory).chrome_trace.format_to_string(pretty=True)

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True) -> StepStatsAnalysis:
        """The trace as an object, whose `chrome_trace.format_to_string()` is the text."""
        return StepStatsAnalysis(_Trace([*self._events()]), {})

    def _events(self) -> Iterator[dict[str, Any]]:
        for pid, device in enumerate(self._step_stats.dev_stats):
            arguments = {"name": f"{device.device} Compute"}
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": arguments}
            yield from (_event(node, pid) for node in device.node_stats)


def _event(node: NodeExecStats, pid: int) -> dict[str, Any]:
    """Return the trace event of one node.

    The label of the node gives its op and inputs: `name = op(input, input)`.
    """
    label = _LABEL.fullmatch(node.timeline_label)
    op = label["op"] if label else "unknown"
    inputs = label["inputs"].split(", ") if label and label["inputs"] else []
    arguments = {"name": node.node_name, "op": op, **{f"input{n}": name for n, name in enumerate(inputs)}}
    times = {"ts": node.all_start_micros, "dur": node.all_end_rel_micros}
    return {"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": node.thread_id, **times, "args": arguments}
