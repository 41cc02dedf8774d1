"""The operations that distributions are written with, in one place: most formulas need a dozen of them."""

from staticgraph import nn as nn
from staticgraph.arrays.array_ops import *
from staticgraph.arrays.casts import *
from staticgraph.arrays.creation import *
from staticgraph.arrays.indexing import *
from staticgraph.arrays.sorting import *
from staticgraph.building.conversion import *
from staticgraph.building.framework import name_scope as name_scope
from staticgraph.building.inputs import *
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32, int32, int64
from staticgraph.compiler.graph.shapes import TensorShape as TensorShape
from staticgraph.compiler.graph.tensor import Tensor as Tensor
from staticgraph.linear_algebra.linalg import cholesky, matmul
from staticgraph.linear_algebra.linalg import triangular_solve as matrix_triangular_solve
from staticgraph.mathematics.math_ops import *
from staticgraph.mathematics.reductions import *
from staticgraph.nn.activation import sigmoid as sigmoid
from staticgraph.random_numbers.random_ops import *
