"""Inputs and outputs of exported models (TF1's `tf.estimator.export`)."""

from staticgraph.compiler.support.lazy_names import names_of_modules
from staticgraph.tf1.estimator.export.outputs import *
from staticgraph.tf1.estimator.export.receivers import *

__all__ = names_of_modules(__name__)
