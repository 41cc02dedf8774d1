"""The functions below the layers (TF1's `tf.keras.backend`): tensors, sessions, learning phase, settings."""

from __future__ import annotations

from staticgraph.building.framework import name_scope as name_scope
from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.control_flow.functional import foldl as foldl
from staticgraph.control_flow.functional import foldr as foldr
from staticgraph.control_flow.functional import map_fn as map_fn
from staticgraph.tf1.keras import settings, state
from staticgraph.tf1.keras.backend.function import *
from staticgraph.tf1.keras.backend.local import *
from staticgraph.tf1.keras.backend.maths import *
from staticgraph.tf1.keras.backend.nn import *
from staticgraph.tf1.keras.backend.recurrence import *
from staticgraph.tf1.keras.backend.sequences import *
from staticgraph.tf1.keras.backend.shapes import *
from staticgraph.tf1.keras.backend.values import *
from staticgraph.tf1.keras.settings import *
from staticgraph.tf1.keras.state import *


def backend() -> str:
    """The name that Keras's programs ask for."""
    return "tensorflow"


export_names(__name__, "foldl foldr map_fn name_scope", settings, state)
