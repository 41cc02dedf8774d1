"""Strategies of training on several devices, of which there is one (TF1's `tf.distribute`)."""

from staticgraph.compiler.support.lazy_names import names_of_modules
from staticgraph.tf1.distribute.strategy import *
from staticgraph.train import Server

__all__ = [*names_of_modules(__name__), "Server"]
