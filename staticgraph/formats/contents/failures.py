"""Summary of a crash dump, which is the file of a run that failed."""

from __future__ import annotations

import os

import numpy as np

from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.runtime.debug.crash_file import read
from staticgraph.runtime.files.summary import FunctionSummary, Summary, VariableSummary


def failed_run(path: str) -> Summary:
    """Summarise a crash dump: the run and its feeds, the variables as they were, and the error."""
    found = read(path)
    run, variables = found.run, {}
    with found.session.held() as store:
        for name, variable in found.session.graph.variables.items():
            size = store.stored(variable.op).nbytes if variable.op in store else 0
            variables[name] = VariableSummary(str(variable.type), size, variable.op in store)
    fed = {t.name: str(TensorType(t.dtype, np.shape(value))) for t, value in run.feeds.items()}
    step = ", ".join(op.name for op in run.targets)
    first = next(iter(found.message.splitlines()), "")
    details = {"error": f"{found.error}: {first}", "operation": found.operation}
    details |= {"versions": ", ".join(f"{name} {version}" for name, version in found.versions.items())}
    return Summary(
        path,
        "run that failed",
        None,
        "",
        os.path.getsize(path),
        {"run": FunctionSummary(fed, {t.name: str(t.type) for t in run.fetches}, "list", step or None)},
        variables,
        details={name: text for name, text in details.items() if text},
    )
