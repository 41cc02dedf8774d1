"""Signals in time and frequency, with TensorFlow 1's names: `sg.signal`."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.domains.signal.frames import *
from staticgraph.domains.signal.mel import *
from staticgraph.domains.signal.transforms import *

export_names(__name__)
