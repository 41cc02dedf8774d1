"""Models in ONNX format, without any other package: `load`, `export`, and an `onnx.backend` in `backend`.

>>> import staticgraph as sg
>>> ("", "Conv") in sg.onnx.supported_operators()
True
"""

from staticgraph.onnx import backend
from staticgraph.onnx.errors import OnnxError, UnknownValueError, UnsupportedOnnxError
from staticgraph.onnx.export import export
from staticgraph.onnx.load import OnnxModel, load
from staticgraph.onnx.nodes import supported as supported_operators

__all__ = [
    "OnnxError",
    "OnnxModel",
    "UnknownValueError",
    "UnsupportedOnnxError",
    "backend",
    "export",
    "load",
    "supported_operators",
]
