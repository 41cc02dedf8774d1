"""The table of a model's layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def print_summary(
    model: Any,
    line_length: int | None = None,
    positions: Sequence[float] | None = None,
    print_fn: Callable[[str], Any] | None = None,
) -> None:
    """Print the layers, their output shapes, weights, and, where they branch, what they are connected to."""
    show = print_fn or print
    branched = not _is_sequence(model)
    width = line_length or (98 if branched else 65)
    shares = list(positions or ([0.33, 0.55, 0.67, 1.0] if branched else [0.45, 0.85, 1.0]))
    columns = [int(width * share) if share <= 1 else int(share) for share in shares]
    titles = ["Layer (type)", "Output Shape", "Param #", *(["Connected to"] if branched else [])]
    show(f'Model: "{model.name}"')
    show("_" * width)
    show(_row(titles, columns))
    show("=" * width)
    for i, layer in enumerate(model.layers):
        first, *others = _connections(model, layer) if branched else [""]
        cells = [f"{layer.name} ({type(layer).__name__})", _output_shape(layer), str(_count(layer))]
        show(_row([*cells, *([first] if branched else [])], columns))
        for other in others:
            show(_row(["", "", "", other], columns))
        show(("=" if i + 1 == len(model.layers) else "_") * width)
    trained, fixed = (_size(v) for v in (model.trainable_weights, model.non_trainable_weights))
    show(f"Total params: {trained + fixed:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {fixed:,}")
    show("_" * width)


def _row(cells: Sequence[str], columns: Sequence[int]) -> str:
    line = ""
    for cell, end in zip(cells, columns, strict=True):
        line = (f"{line[:-1]} {cell}" if line else cell)[:end].ljust(end)
    return line


def _is_sequence(model: Any) -> bool:
    """Return True if each layer follows the one before it."""
    nodes = getattr(model, "_nodes", None)
    if nodes is None:
        return True
    inside = {id(node) for node in nodes}
    return all(
        len(node.input_tensors) <= 1
        and sum(id(out) in inside for layer in [node.layer] for out in layer.outbound_nodes) <= 1
        for node in nodes
    ) and len({id(node.layer) for node in nodes}) == len(nodes)


def _connections(model: Any, layer: Any) -> list[str]:
    inside = {id(node) for node in getattr(model, "_nodes", ())}
    names = [
        f"{parent.layer.name}[{parent.node_index}][{parent.tensor_index}]"
        for node in layer.inbound_nodes
        if id(node) in inside
        for parent in node.parents()
    ]
    return names or [""]


def _output_shape(layer: Any) -> str:
    try:
        shape = layer.output_shape
        return str(shape if layer.inbound_nodes[0].input_tensors else [shape])
    except AttributeError:
        return "multiple"


def _count(layer: Any) -> int:
    return layer.count_params() if layer.built else 0


def _size(variables: Sequence[Any]) -> int:
    return sum(v.shape.num_elements() or 0 for v in variables)
