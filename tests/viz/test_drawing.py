"""What is drawn: boxes, scopes, links, labels and tooltips of small graphs at each stage."""

import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import FeedError, FetchError
from staticgraph.inputs import constant, group, no_op, placeholder
from staticgraph.variables import Variable
from staticgraph.visualize import visualize
from staticgraph.visualize.dot import dot_source
from staticgraph.visualize.fold import fold
from staticgraph.visualize.model import Box, Drawing, Flow, Role, Work
from staticgraph.visualize.recorded import recorded

from staticgraph.compiler.graph.graph import get_default_graph


def layer():
    """y = relu(x W + b) in a scope."""
    x = placeholder("float32", [None, 64], name="x")
    with get_default_graph().name_scope("layer"):
        w = Variable(np.zeros((64, 10), np.float32), name="W")
        b = Variable(np.zeros(10, np.float32), name="b")
        return ops.relu(ops.matmul(x, w) + b, name="y")


def user(*fetches) -> Drawing:
    roots = [getattr(f, "op", f) for f in fetches]
    return recorded(get_default_graph(), roots, roots)


def by_title(drawing: Drawing) -> dict[str, Box]:
    found = {box.title: box for box in drawing.boxes}
    assert len(found) == len(drawing.boxes)
    return found


def arrows(drawing: Drawing) -> set[tuple[str, str, str]]:
    titles = {box.key: box.title for box in drawing.boxes}
    return {(titles[link.source], titles[link.target], link.text) for link in drawing.links}
