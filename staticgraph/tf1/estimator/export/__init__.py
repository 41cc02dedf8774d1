"""Inputs and outputs of exported models (TF1's `tf.estimator.export`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.estimator.export.outputs import *
from staticgraph.tf1.estimator.export.receivers import *

export_names(__name__)
