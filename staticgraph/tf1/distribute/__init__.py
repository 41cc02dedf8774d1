"""Strategies of training on several devices, of which there is one (TF1's `tf.distribute`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.distribute.strategy import *
from staticgraph.train import Server

export_names(__name__, "Server")
