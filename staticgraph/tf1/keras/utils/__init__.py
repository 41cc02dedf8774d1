"""Helpers of programs that use models (TF1's `tf.keras.utils`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.keras import serialization
from staticgraph.tf1.keras.serialization import *
from staticgraph.tf1.keras.utils.arrays import *
from staticgraph.tf1.keras.utils.download import *
from staticgraph.tf1.keras.utils.drawing import *
from staticgraph.tf1.keras.utils.progress import *
from staticgraph.tf1.keras.utils.sequence import *

export_names(__name__, "", serialization)
