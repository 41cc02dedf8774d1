"""Signals in time and frequency, with TensorFlow 1's names: `sg.signal`."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.signal.frames import *
from staticgraph.signal.mel import *
from staticgraph.signal.transforms import *

export_names(__name__)
