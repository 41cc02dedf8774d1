"""Attributes that are TensorFlow's defaults, left out of a GraphDef so that older versions can read it."""

from __future__ import annotations

from staticgraph.formats.tf.graph_def.attributes import attr_value
from staticgraph.formats.tf.graph_def.signatures import REQUIRED, signature
from staticgraph.formats.tf.messages.graph import GraphDef


def strip_defaults(graph_def: GraphDef) -> None:
    """Remove from all nodes the attributes that a reader would take to be so anyway."""
    for node in graph_def.node:
        told = signature(node.op)
        for attr in told.attrs.values() if told is not None else ():
            known = attr.default is not REQUIRED and attr.name in node.attr
            if known and node.attr[attr.name] == attr_value(attr.kind, attr.default):
                del node.attr[attr.name]
