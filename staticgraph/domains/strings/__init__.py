"""Strings in a graph, with TensorFlow 1's names: `sg.strings`.

They are computed in Python, beside the compiled step. A string is bytes; texts of Python's become UTF-8.
"""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.domains.strings.hashes import *
from staticgraph.domains.strings.parts import *
from staticgraph.domains.strings.patterns import *
from staticgraph.domains.strings.text import *
from staticgraph.domains.strings.unicode import *

export_names(__name__)
