"""What a saved graph is after loading: a function of its inputs, with variables to look at and to set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import FeedError, InvalidArgumentError, NotFoundError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.saving import graph_file
from staticgraph.runtime.saving.nearest import nearest
from staticgraph.runtime.saving.signature import Signature
from staticgraph.runtime.session import Session


class LoadedGraph:
    """A graph from a file, in a session of its own.

    A call computes the outputs: `net(x=batch)`, or `net({"x": batch})` for names that are no Python names. It
    returns what was given as `outputs` when the graph was saved: a dict of arrays, a list, or one array.
    """

    def __init__(self, path: str | os.PathLike[str], signature: Signature, session: Session) -> None:
        self.path = Path(path)
        self.session = session
        self._signature = signature
        self._variables = Variables(session)
        self._needs = signature.required()
        self._step_needs = signature.required(signature.steps)
        self._fetches = signature.fetches

    @property
    def graph(self) -> Graph:
        """The graph: what the outputs and the step need of the one that was saved, under the same names."""
        return self._signature.graph

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors that a call takes values for, by name, with their dtypes and shapes."""
        return dict(self._signature.inputs)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors that a call computes, by name."""
        return dict(self._signature.outputs)

    @property
    def variables(self) -> Variables:
        """The values of the variables by name: read as copies, set with arrays of the same shape."""
        return self._variables

    @property
    def trains(self) -> bool:
        """Whether a training step was saved."""
        return self._signature.step is not None

    def __call__(self, values: Mapping[str, Any] | None = None, /, **inputs: Any) -> Any:
        """The outputs for these inputs. FeedError for an input that is missing, unknown, or does not fit."""
        fed = self._feeds({**(values or {}), **inputs}, self._needs)
        return self.session.run(self._fetches, fed)

    def step(self, values: Mapping[str, Any] | None = None, /, **inputs: Any) -> Any:
        """Run the training step that was saved, once; returns the outputs of the same run."""
        step = self._signature.step
        if step is None:
            hint = "save it with one: sg.save(path, outputs, step=train_op)"
            raise InvalidArgumentError(
                layout(f"{self.path.name} has no training step", user_frame(), hint=hint)
            )
        fed = self._feeds({**(values or {}), **inputs}, self._step_needs)
        return self.session.run([self._fetches, step], fed)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the graph again, with the present values of its variables."""
        graph_file.write(path, self._signature, self.session)

    def _feeds(self, values: dict[str, Any], required: list[str]) -> dict[Tensor, Any]:
        known = self._signature.inputs
        takes = ", ".join(f"{n}: {t.type}" for n, t in known.items()) or "no inputs"
        for name in values:
            if name not in known:
                hint = _did_you_mean(name, known)
                raise FeedError(
                    layout(
                        f"{self.path.name} has no input {name!r}; it takes {takes}", user_frame(), hint=hint
                    )
                )
        for name in required:
            if name not in values:
                tensor = known[name]
                raise FeedError(
                    layout(
                        f"{self.path.name} needs a value for its input {name!r} ({tensor.type})",
                        user_frame(),
                        hint=f"it takes {takes}",
                    ),
                    tensor.op,
                )
        return {known[name]: value for name, value in values.items()}

    def __repr__(self) -> str:
        variables = self._variables
        elements = sum(variables.size(name) for name in variables)
        lines = [f"<sg.LoadedGraph {self.path.name}"]
        for label, ports in (("inputs", self._signature.inputs), ("outputs", self._signature.outputs)):
            text = ", ".join(f"{name}: {t.type}" for name, t in ports.items())
            lines.append(f"  {label:<10} {text or 'none'}")
        lines.append(f"  {'variables':<10} {len(variables)} with {elements:,} elements")
        if self._signature.step is not None:
            lines.append(f"  {'step':<10} {self._signature.step.name}")
        return "\n".join(lines) + f"\n  {'operations':<10} {self.graph.version}>"


class Variables(MutableMapping[str, np.ndarray]):
    """The values of a session's variables by name. Setting checks dtype and shape; none can be removed."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> np.ndarray:
        with self._session.held() as store:
            return store.read(self._op(name))

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
        """The number of elements of a variable's value."""
        with self._session.held() as store:
            return store.stored(self._op(name)).size

    def _op(self, name: str) -> Operation:
        known = self._session.graph.variables
        if name not in known:
            raise NotFoundError(
                layout(f"there is no variable {name!r}", user_frame(), hint=_did_you_mean(name, known))
            )
        return known[name].op

    def __repr__(self) -> str:
        lines = [f"  {name}: {v.type}" for name, v in self._session.graph.variables.items()]
        return "\n".join(["<variables", *lines]) + ">"


def load(path: str | os.PathLike[str]) -> LoadedGraph:
    """The graph in the file at `path`; see `staticgraph.saving.load`."""
    return LoadedGraph(path, *graph_file.read(path))


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else None
