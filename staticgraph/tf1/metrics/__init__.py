"""Metrics over many steps (TF1's `tf.metrics`): each gives `(value, update_op)` around local variables."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.metrics.classes import *
from staticgraph.tf1.metrics.counts import *
from staticgraph.tf1.metrics.means import *
from staticgraph.tf1.metrics.ranking import *
from staticgraph.tf1.metrics.thresholds import *

export_names(__name__)
