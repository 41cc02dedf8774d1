"""A saved graph after loading: functions of its inputs, with variables to read and to set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import (
    FeedError,
    InvalidArgumentError,
    NotFoundError,
    UninitializedError,
    layout,
    misuse,
)
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime.files import graph_file
from staticgraph.runtime.files.graph_file import SavedGraph
from staticgraph.runtime.files.signature import TRAIN, BoundFunction, InputShapes
from staticgraph.runtime.session import Session


class LoadedFunction:
    """One signature of a loaded graph: a function of its inputs, called like the graph itself."""

    def __init__(self, label: str, bound: BoundFunction, session: Session) -> None:
        self._label = label
        self._bound = bound
        self._session = session
        self._required = bound.required
        self._fetches = bound.fetches

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors that a call takes values for, by name, with their dtypes and shapes."""
        return dict(self._bound.inputs)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors that a call returns, by name; see `structure`."""
        return dict(self._bound.outputs)

    @property
    def step(self) -> Operation | None:
        """The operation that a call runs besides, such as a training step."""
        return self._bound.step

    @property
    def structure(self) -> str:
        """The structure of a call's result: a "dict" or a "list" of arrays, "one" array, or "none"."""
        return self._bound.structure

    @property
    def required(self) -> list[str]:
        """The inputs that a call must give; the others have a value of their own."""
        return list(self._required)

    def __call__(self, values: Mapping[str, Any] | None = None, /, **inputs: Any) -> Any:
        """The outputs for these inputs. FeedError for an input that is missing, unknown, or does not fit."""
        fed = self._feeds({**(values or {}), **inputs})
        return self._bound.returned(self._session.run(self._fetches, fed))

    def _feeds(self, values: dict[str, Any]) -> dict[Tensor, Any]:
        known = self._bound.inputs
        takes = ", ".join(f"{n}: {t.type}" for n, t in known.items()) or "no inputs"
        for name in values:
            if name not in known:
                text = f"{self._label} has no input {name!r}; it takes {takes}"
                raise misuse(FeedError, text, _did_you_mean(name, known))
        for name in self._required:
            if name not in values:
                tensor = known[name]
                text = f"{self._label} needs a value for its input {name!r} ({tensor.type})"
                raise FeedError(layout(text, user_frame(), hint=f"it takes {takes}"), tensor.op)
        return {known[name]: value for name, value in values.items()}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {t.type}" for name, t in self._bound.inputs.items())
        outputs = ", ".join(f"{name}: {t.type}" for name, t in self._bound.outputs.items())
        besides = f", runs {self.step.name}" if self.step is not None else ""
        return f"<{self._label}({inputs}) -> {outputs or None}{besides}>"


class LoadedGraph:
    """A graph from a file, in a session of its own.

    A call computes the outputs: `net(x=batch)`, or `net({"x": batch})` for names that are no Python names. It
    returns what was given as `outputs` when the graph was saved: a dict of arrays, a list, or one array. Of
    several signatures the first one is called; `net.signatures["name"](...)` calls another.
    """

    def __init__(self, path: str | os.PathLike[str], saved: SavedGraph) -> None:
        self.path = Path(path_of(path, "path"))
        self.session = saved.session
        self._saved = saved
        self._variables = Variables(saved.session)
        name = self.path.name
        self._first = next(iter(saved.signatures))
        self._functions = {
            key: LoadedFunction(name if key == self._first else f"{name}: {key}", bound, saved.session)
            for key, bound in saved.signatures.items()
        }

    @property
    def graph(self) -> Graph:
        """The graph: what the signatures need of the one that was saved, under the same names."""
        return self._saved.graph

    @property
    def signatures(self) -> dict[str, LoadedFunction]:
        """The functions of the file by name. A call of the graph is a call of the first one."""
        return dict(self._functions)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors that a call takes values for, by name, with their dtypes and shapes."""
        return self._functions[self._first].inputs

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors that a call computes, by name."""
        return self._functions[self._first].outputs

    @property
    def variables(self) -> Variables:
        """The values of the variables by name: read as copies, set with arrays of the same shape."""
        return self._variables

    @property
    def trains(self) -> bool:
        """True if a training step was saved."""
        return TRAIN in self._functions

    def __call__(self, values: Mapping[str, Any] | None = None, /, **inputs: Any) -> Any:
        """The outputs for these inputs. FeedError for an input that is missing, unknown, or does not fit."""
        return self._functions[self._first](values, **inputs)

    def step(self, values: Mapping[str, Any] | None = None, /, **inputs: Any) -> Any:
        """Run the training step that was saved, once; returns the outputs of the same run."""
        if not self.trains:
            hint = "save it with one: sg.save(path, outputs, step=train_op)"
            raise misuse(InvalidArgumentError, f"{self.path.name} has no training step", hint)
        return self._functions[TRAIN](values, **inputs)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        kernels: Sequence[str] = (),
        shapes: InputShapes | Sequence[InputShapes] = (),
    ) -> None:
        """Save the graph again, with the present values of its variables, and with machine code for the
        processors `kernels` only; see `staticgraph.saved.saving.save`.
        """
        saved = self._saved
        graph_file.write(path, saved.signatures, self.session, saved.resume, kernels, shapes)

    def __repr__(self) -> str:
        variables = self._variables
        elements = sum(variables.size(name) for name in variables)
        lines = [f"<sg.LoadedGraph {self.path.name}"]
        for label, ports in (("inputs", self.inputs), ("outputs", self.outputs)):
            text = ", ".join(f"{name}: {t.type}" for name, t in ports.items())
            lines.append(f"  {label:<10} {text or 'none'}")
        lines.append(f"  {'variables':<10} {len(variables)} with {elements:,} elements")
        if len(self._functions) > 1:
            lines.append(f"  {'signatures':<10} {', '.join(self._functions)}")
        return "\n".join(lines) + f"\n  {'operations':<10} {self.graph.version}>"


class Variables(MutableMapping[str, np.ndarray]):
    """The values of a session's variables by name. Setting checks dtype and shape; none can be removed."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> np.ndarray:
        op = self._op(name)
        with self._session.held() as store:
            if op not in store:
                hint = "run the signature that sets it, or set it: net.variables[name] = value"
                raise UninitializedError(layout(f"variable {name} has no value", user_frame(), hint=hint), op)
            return store.read(op)

    def __setitem__(self, name: str, value: Any) -> None:
        op = self._op(name)
        type, array = op.outputs[0].type, np.asarray(value)
        if not np.can_cast(array.dtype, type.dtype.numpy, "same_kind") or not compatible(
            array.shape, type.shape
        ):
            found = f"{array.dtype}{list(array.shape)}"
            raise InvalidArgumentError(
                layout(f"variable {name} is {type}, and the new value {found}", user_frame()), op
            )
        with self._session.held() as store:
            store.write(op, array)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"the variable {self._op(name).name} is a part of the graph and cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._session.graph.variables)

    def __len__(self) -> int:
        return len(self._session.graph.variables)

    def size(self, name: str) -> int:
        """The number of elements of a variable's value, 0 where it has none."""
        op = self._op(name)
        with self._session.held() as store:
            return store.stored(op).size if op in store else 0

    def _op(self, name: str) -> Operation:
        known = self._session.graph.variables
        if name not in known:
            raise misuse(NotFoundError, f"there is no variable {name!r}", _did_you_mean(name, known))
        return known[name].op

    def __repr__(self) -> str:
        lines = [f"  {name}: {v.type}" for name, v in self._session.graph.variables.items()]
        return "\n".join(["<variables", *lines]) + ">"


def load(path: str | os.PathLike[str], mapped: bool = False, trusted: bool = False) -> LoadedGraph:
    """The graph in the file at `path`; see `staticgraph.saved.saving.load`."""
    with collector_paused():
        return LoadedGraph(path, graph_file.read(path, mapped, _adopt if trusted else None))


def _adopt(members: Mapping[str, bytes], signatures: Mapping[str, BoundFunction], session: Session) -> None:
    # What runs programs is imported when it is needed.
    from staticgraph.runtime.files.code import GPU_TARGETS

    if session.device is not None:
        from staticgraph.runtime.files.code.gpu import provide

        provide([data for target, data in members.items() if target.startswith(GPU_TARGETS)], session.device)
    else:
        from staticgraph.runtime.files.code.cpu import adopt

        others = [data for target, data in members.items() if not target.startswith(GPU_TARGETS)]
        adopt(others, signatures, session)


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    from staticgraph.compiler.support.nearest import nearest_name  # only for errors

    close = nearest_name(name, known)
    return f"did you mean {close!r}?" if close else None
