"""Callbacks: actions between the steps of training (TF1's `tf.keras.callbacks`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.keras.callbacks.base import *
from staticgraph.tf1.keras.callbacks.points import *
from staticgraph.tf1.keras.callbacks.progress import *
from staticgraph.tf1.keras.callbacks.reports import *
from staticgraph.tf1.keras.callbacks.watching import *

export_names(__name__)
