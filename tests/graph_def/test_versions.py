"""Versions of graphs, as TensorFlow's importer_test and its test_util have them."""

import pytest

import staticgraph as sg
from staticgraph.formats.tf.messages.graph import GraphDef


def test_a_graph_has_the_version_of_tensorflow():
    graph = sg.Graph()
    assert graph.graph_def_versions.producer == 134
    assert graph.as_graph_def().versions.producer == 134


def test_an_import_may_lower_it():
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(GraphDef(versions={"producer": 8}))
        sg.import_graph_def(GraphDef(versions={"producer": 21}))
        sg.import_graph_def(GraphDef())
    assert graph.graph_def_versions.producer == graph.as_graph_def().versions.producer == 8


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"producer": -1}, r"producer version -1 below min producer 0 supported by TensorFlow \S+\.  Please"),
        ({"min_consumer": 1 << 30}, r"min consumer version 1073741824 above current version 134 for Tens"),
    ],
)
def test_versions_that_are_not_understood(versions, message):
    with pytest.raises(ValueError, match=message):
        sg.import_graph_def(GraphDef(versions=versions))
