"""Probability distributions, with TensorFlow 1's names: `sg.distributions`.

Besides those of `tf.distributions` there are those of `tf.contrib.distributions` that programs use.
"""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.distributions import bijectors
from staticgraph.tf1.distributions.base import *
from staticgraph.tf1.distributions.counts import *
from staticgraph.tf1.distributions.discrete import *
from staticgraph.tf1.distributions.divergence import RegisterKL as RegisterKL
from staticgraph.tf1.distributions.divergence import kl_divergence as kl_divergence
from staticgraph.tf1.distributions.gamma import *
from staticgraph.tf1.distributions.half_normal import *
from staticgraph.tf1.distributions.independent import *
from staticgraph.tf1.distributions.location_scale import *
from staticgraph.tf1.distributions.mixture import *
from staticgraph.tf1.distributions.mixture_same_family import *
from staticgraph.tf1.distributions.multivariate import *
from staticgraph.tf1.distributions.point_mass import *
from staticgraph.tf1.distributions.relaxed import *
from staticgraph.tf1.distributions.statistics import *
from staticgraph.tf1.distributions.transformed import *
from staticgraph.tf1.distributions.uniform import *

export_names(__name__, "bijectors")
