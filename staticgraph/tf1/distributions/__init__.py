"""Probability distributions, with TensorFlow 1's names: `sg.distributions`.

Besides those of `tf.distributions` there are those of `tf.contrib.distributions` that programs use.
"""

from staticgraph.tf1.distributions import bijectors
from staticgraph.tf1.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from staticgraph.tf1.distributions.counts import Binomial, DirichletMultinomial, Multinomial
from staticgraph.tf1.distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from staticgraph.tf1.distributions.divergence import RegisterKL, kl_divergence
from staticgraph.tf1.distributions.gamma import (
    Beta,
    BetaWithSoftplusConcentration,
    Chi2,
    Dirichlet,
    Exponential,
    ExponentialWithSoftplusRate,
    Gamma,
    GammaWithSoftplusConcentrationRate,
    InverseGamma,
)
from staticgraph.tf1.distributions.location_scale import (
    Cauchy,
    Laplace,
    LaplaceWithSoftplusScale,
    Logistic,
    Normal,
    NormalWithSoftplusScale,
    StudentT,
    StudentTWithAbsDfSoftplusScale,
)
from staticgraph.tf1.distributions.mixture import Mixture
from staticgraph.tf1.distributions.multivariate import (
    MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from staticgraph.tf1.distributions.transformed import TransformedDistribution
from staticgraph.tf1.distributions.uniform import Uniform

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "BetaWithSoftplusConcentration",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "ExponentialWithSoftplusRate",
    "Gamma",
    "GammaWithSoftplusConcentrationRate",
    "Geometric",
    "InverseGamma",
    "Laplace",
    "LaplaceWithSoftplusScale",
    "Logistic",
    "Mixture",
    "Multinomial",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
    "Normal",
    "NormalWithSoftplusScale",
    "OneHotCategorical",
    "Poisson",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "StudentTWithAbsDfSoftplusScale",
    "TransformedDistribution",
    "Uniform",
    "bijectors",
    "kl_divergence",
]
