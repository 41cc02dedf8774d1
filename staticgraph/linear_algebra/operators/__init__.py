"""Linear operators: matrices that are known by what they do (TF1's `tf.linalg.LinearOperator...`).

`base.py` has what all of them share, and `algebra.py` the tables by which operators make others.
"""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.linear_algebra.operators import products as products
from staticgraph.linear_algebra.operators.base import *
from staticgraph.linear_algebra.operators.circulant import *
from staticgraph.linear_algebra.operators.combined import *
from staticgraph.linear_algebra.operators.derived import *
from staticgraph.linear_algebra.operators.identities import *
from staticgraph.linear_algebra.operators.kronecker import *
from staticgraph.linear_algebra.operators.low_rank import *
from staticgraph.linear_algebra.operators.matrices import *

export_names(__name__)
