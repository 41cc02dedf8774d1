"""Functions with an inverse, and how much they stretch: what distributions are transformed by.

`base.py` says what one is; the others are of elements, of vectors, or made of networks.
"""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.distributions.bijectors.affine import *
from staticgraph.tf1.distributions.bijectors.base import *
from staticgraph.tf1.distributions.bijectors.elementwise import *
from staticgraph.tf1.distributions.bijectors.flows import *
from staticgraph.tf1.distributions.bijectors.vectors import *

export_names(__name__)
