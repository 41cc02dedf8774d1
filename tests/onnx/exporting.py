"""Checks that the tests of exported models share: onnx's own, and onnxruntime."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

onnx = pytest.importorskip("onnx")
evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
onnxruntime = pytest.importorskip("onnxruntime")

from staticgraph.formats.onnx.export import export  # noqa: E402
from staticgraph.formats.onnx.proto import ModelProto  # noqa: E402

onnxruntime.set_default_logger_severity(4)  # what cannot be run is an exception as well


def checked(model: ModelProto) -> Any:
    """The model as a message of the onnx package, which found nothing wrong with it."""
    theirs = onnx.load_from_string(model.SerializeToString())
    onnx.checker.check_model(theirs, full_check=True)
    onnx.shape_inference.infer_shapes(theirs, check_type=True, strict_mode=True, data_prop=True)
    return theirs


def run(model: ModelProto | str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the results of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    given = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def operators(model: ModelProto) -> Counter[str]:
    """Count the nodes of each operator."""
    return Counter(node.op_type for node in model.graph.node)


def agrees(fetches: Any, feeds: dict[Any, np.ndarray], rtol: float = 1e-5, **options: Any) -> ModelProto:
    """The model of `fetches`, after onnx's checks; it gives the numbers of `Session.run` in onnxruntime."""
    graph = next(iter(feeds)).graph
    with sg.Session(graph=graph) as session:
        with graph.as_default():
            session.run(sg.global_variables_initializer())
        wanted = session.run(fetches, feeds)
        model = export(fetches, session=session, **options)
    checked(model)
    found = run(model, {t.op.name: array for t, array in feeds.items()})
    wanted = wanted if isinstance(wanted, list) else [wanted]
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol, rtol * np.abs(b).max(initial=0))
    return model
