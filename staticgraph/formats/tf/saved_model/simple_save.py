"""A graph with one signature, saved in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.saved_model.builder import SavedModelBuilder
from staticgraph.formats.tf.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from staticgraph.formats.tf.saved_model.signature_def_utils import predict_signature_def
from staticgraph.formats.tf.saved_model.tag_constants import SERVING
from staticgraph.runtime.session import Session

__all__ = ["simple_save"]


def simple_save(
    session: Session,
    export_dir: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Save the graph of a session, with the values of its variables, to be served: from `inputs` to
    `outputs`, tensors by name.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> folder = os.path.join(tempfile.mkdtemp(), "model")
    >>> with sg.Graph().as_default(), sg.Session() as sess:
    ...     x = sg.placeholder(sg.float32, [None], name="x")
    ...     y = sg.multiply(x, sg.Variable(2.0), name="y")
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     sg.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    >>> with sg.Graph().as_default(), sg.Session() as sess:
    ...     _ = sg.saved_model.loader.load(sess, ["serve"], folder)
    ...     sess.run("y:0", {"x:0": [1.0, 2.0]})
    array([2., 4.], dtype=float32)
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
