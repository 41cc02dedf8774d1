"""Strings in a graph, with TensorFlow 1's names: `sg.strings`.

They are computed in Python, beside the compiled step. A string is bytes; texts of Python's become UTF-8.
"""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.strings.hashes import *
from staticgraph.strings.parts import *
from staticgraph.strings.patterns import *
from staticgraph.strings.text import *
from staticgraph.strings.unicode import *

export_names(__name__)
