"""Descriptions of a model's inputs, and what models make of them (TF1's `tf.feature_column`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.feature_column.categorical import *
from staticgraph.tf1.feature_column.crossed import *
from staticgraph.tf1.feature_column.embedding import *
from staticgraph.tf1.feature_column.layers import *
from staticgraph.tf1.feature_column.numeric import *

export_names(__name__)
