"""A profile for other programs: Chrome's trace viewer, and TF1's `RunMetadata`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.profiling.step_times import StepTimes, TimedEvent

TASK = "/job:localhost/replica:0/task:0"


def write_trace(path: str | os.PathLike[str], steps: Sequence[StepTimes]) -> None:
    """Write the last run of each step: steps are processes of the trace, and threads are its threads. Times
    are those since the first of them. SaveError if the file cannot be written.
    """
    start = min((event.start for step in steps for event in step.events), default=0)
    events = [event for number, step in enumerate(steps) for event in _of_step(number, step, start)]
    write_file(path, [json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}).encode()])


def _of_step(number: int, step: StepTimes, start: int) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": step.what}}
    for thread in range(step.threads):
        first = "the thread that called run" if step.device.startswith("CPU") else f"/device:{step.device}"
        name = first if thread == 0 else f"worker {thread}"
        yield {"ph": "M", "name": "thread_name", "pid": number, "tid": thread, "args": {"name": name}}
    for event in step.events:
        times = {"ts": (event.start - start) / 1000, "dur": event.nanoseconds / 1000}
        yield {
            "ph": "X",
            "name": event.name,
            "pid": number,
            "tid": event.thread,
            **times,
            "args": _arguments(event),
        }


def _arguments(event: TimedEvent) -> dict[str, Any]:
    if event.kernel is None:
        return {}
    told: dict[str, Any] = {"ops": " ".join(event.kernel.ops), "lines": event.kernel.places}
    if event.kernel.effort is not None:
        told |= {"FLOP": event.kernel.effort.flops, "bytes": event.kernel.effort.bytes}
    return told


def fill_step_stats(metadata: Any, steps: Sequence[StepTimes]) -> None:
    """Put what was measured into a `RunMetadata`, in place of what is there."""
    metadata.step_stats.Clear()
    devices: dict[str, Any] = {}
    for step in steps:
        device = devices.get(step.device)
        if device is None:
            device = devices[step.device] = metadata.step_stats.dev_stats.add()
            device.device = f"{TASK}/device:{step.device}"
        for event in step.events[1:]:  # the first is the step as a whole
            nanoseconds, length = event.start, max(round(event.nanoseconds), 1)
            micros = max(round(length / 1000), 1)
            stats = device.node_stats.add()
            stats.node_name = event.name
            stats.thread_id = event.thread
            stats.timeline_label = _label(event)
            stats.all_start_micros, stats.scheduled_micros = nanoseconds // 1000, nanoseconds // 1000
            stats.op_end_rel_micros, stats.all_end_rel_micros = micros, micros
            stats.all_start_nanos, stats.scheduled_nanos = nanoseconds, nanoseconds
            stats.op_end_rel_nanos, stats.all_end_rel_nanos = length, length


def _label(event: TimedEvent) -> str:
    """Return the text of an event in TF1's form, `name = operation(inputs)`."""
    if event.kernel is None:
        return f"{event.name} = {event.name.split()[0]}()"
    lines = ", ".join(where.short for where in event.kernel.lines)
    return f"{event.name} = {'+'.join(event.kernel.ops) or 'copy'}({lines})"
