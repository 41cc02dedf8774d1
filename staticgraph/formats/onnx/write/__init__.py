"""Operations of a graph on their way into an ONNX model. `export.py` is the entry."""
