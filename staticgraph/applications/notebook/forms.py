"""Rich forms of objects in a notebook: tables and pictures, by the class of the object.

IPython keeps them, so the classes know nothing of notebooks, and a script loads none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.applications.notebook import html
from staticgraph.compiler.graph.graph import Graph
from staticgraph.draw import visualize
from staticgraph.runtime.reports.table import counted

_DRAWN = 3_000  # operations of a graph that is drawn; a larger one is described


def install(shell: Any) -> None:
    """Let `shell` show objects of ours by the forms in this file."""
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), form in FORMS.items():
        formatter.for_type_by_name(f"staticgraph.{module}", name, form)


def tensor(value: Any) -> str:
    """A tensor or variable: its name, type and maker, and the user's line."""
    operation = value.op
    pairs: list[tuple[str, object]] = [("shape", value.shape), ("dtype", value.dtype.name)]
    made_of = ", ".join(each.name for each in operation.all_inputs)
    pairs.append(("made by", f"{operation.type}({made_of})"))
    where = getattr(value, "where", None) or operation.where
    if where is not None:
        pairs.append(("line", f"{where.short}: {where.text}" if where.text else where.short))
    return html.facts(f"{type(value).__name__} {value.name}", pairs)


def graph(value: Graph) -> str:
    """A graph: how much is in it, and its picture if it is not too large."""
    operations = value.get_operations()
    variables = value.get_collection("variables")
    sizes = [each.shape.num_elements() or 0 for each in variables]
    pairs: list[tuple[str, object]] = [
        ("operations", len(operations)),
        ("variables", f"{len(variables)} of {counted(sum(sizes))} numbers"),
    ]
    fed = [str(op.outputs[0]) for op in operations if op.type == "Placeholder"]
    pairs.append(("placeholders", ", ".join(fed[:8]) + (" ..." if len(fed) > 8 else "")))
    shown = html.facts("Graph", pairs)
    if not 0 < len(operations) <= _DRAWN:
        return shown
    return f'{shown}<div style="overflow: auto; max-height: 40em">{visualize(value).svg}</div>'


def session(value: Any) -> str:
    """A session: where it runs, and what it has compiled."""
    device = "CPU" if value.device is None else str(value.device)
    pairs = [("device", device), ("operations in its graph", len(value.graph.get_operations()))]
    return html.facts("Session", pairs) + compiles(value.compiles)


def compiles(value: Any) -> str:
    """The compiles of a session."""
    return html.table(value.table) if len(value) else html.facts("0 compiles", ())


def plan(value: Any) -> str:
    """A plan: the kernels, then what is said beside them, each to be unfolded."""
    return html.table(value.table) + "".join(map(_note, value.notes()))


def _note(note: str) -> str:
    title, _, rest = note.partition("\n")
    if rest:
        return html.unfolding(title.removesuffix(":"), html.plain(rest))
    return f"<div>{html.text(title)}</div>"


def profile(value: Any) -> str:
    """A profile: a table of kernels for each program, those that took longest first."""
    if not value.steps:
        return html.facts(str(value), ())
    longest_first = sorted(value.steps, key=lambda step: -step.nanoseconds)
    tables = "".join(html.table(step.listing(value.limits)) for step in longest_first)
    return tables + f"<div>{html.text(value.limits)}</div>"


def history(value: Any) -> str:
    """A history of training: the curves, and the last epoch's numbers."""
    last = [(name, f"{np.asarray(values)[-1]:.6g}") for name, values in value.history.items()]
    return value.plot().svg + html.facts(f"after {len(value.epoch)} epochs", last)


def model(value: Any) -> str:
    """A model of Keras: its layers, or that it is not built yet."""
    if not value.built:
        return html.facts(f"{type(value).__name__} {value.name}", [("not built yet", "call or fit it")])
    lines: list[str] = []
    value.summary(print_fn=lines.append)
    return html.plain("\n".join(lines))


_MODEL = "tf1.keras.engine"
FORMS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("compiler.graph.tensor", "Tensor"): tensor,
    ("state.variables", "Variable"): tensor,
    ("compiler.graph.graph", "Graph"): graph,
    ("runtime.session", "Session"): session,
    ("runtime.session", "InteractiveSession"): session,
    ("runtime.reports.compile_log", "CompileLog"): compiles,
    ("runtime.profiling.step_plan", "StepPlan"): plan,
    ("runtime.profiling.profile", "Profile"): profile,
    ("tf1.keras.callbacks.base", "History"): history,
    (f"{_MODEL}.sequential", "Sequential"): model,
    (f"{_MODEL}.model", "Model"): model,
}
