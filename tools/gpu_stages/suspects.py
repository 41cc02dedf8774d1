"""Which kernel is at fault where a training step does not give what the processor gives.

Each kernel of such a step runs on the card beside NumPy, both on the same inputs. One that breaks the card
does so in this process, and the stages after it go on.
"""

from __future__ import annotations

import numpy as np

import staticgraph as sg
from benchmarks import staticgraph_row
from gpu_stages.findings import read
from gpu_stages.models import SMALL
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS
from staticgraph.runtime.debug.bisect import StepCall, backend_of, bisect, calls_of, how
from staticgraph.runtime.debug.bisect_text import text
from staticgraph.runtime.feeds import convert


def run(setting: Setting) -> None:
    """The stage."""
    wrong = {each.name for each in read(setting.folder / "models.jsonl") if each.ok is False}
    for name in [name for name in STEPS if name in wrong]:
        if setting.within(name, 3):
            with setting.findings.trying(name):
                _look(setting, name)
    if not wrong & STEPS.keys():
        setting.findings.note("steps that differ", "none")


def _look(setting: Setting, name: str) -> None:
    backend = backend_of(setting.device)
    for call in _calls(setting, name):
        found = bisect(call, how(backend))
        setting.findings.check(name, found.agrees, " | ".join(text(found).splitlines()))


def _calls(setting: Setting, name: str) -> list[StepCall]:
    """Return the calls of a step with its first batch."""
    data = STEPS[name].data(setting.small, SMALL.get(name))
    with sg.Graph().as_default() as graph, sg.options(device="cpu"):
        getattr(staticgraph_row, STEPS[name].name)(data)
        places = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        feeds = {t: convert(t, np.asarray(value)) for t, value in zip(places, data.batches[0], strict=True)}
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            return calls_of(graph, graph.get_collection("train_op"), feeds, session.variables)
