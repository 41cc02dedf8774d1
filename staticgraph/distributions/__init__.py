"""Probability distributions, with TensorFlow 1's names: `sg.distributions`.

Besides those of `tf.distributions` there are those of `tf.contrib.distributions` that programs use.
"""

from staticgraph.distributions import bijectors
from staticgraph.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from staticgraph.distributions.counts import Binomial, DirichletMultinomial, Multinomial
from staticgraph.distributions.discrete import Bernoulli, Categorical, Geometric, OneHotCategorical, Poisson
from staticgraph.distributions.divergence import RegisterKL, kl_divergence
from staticgraph.distributions.gamma import (
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
from staticgraph.distributions.location_scale import (
    Cauchy,
    Laplace,
    LaplaceWithSoftplusScale,
    Logistic,
    Normal,
    NormalWithSoftplusScale,
    StudentT,
    StudentTWithAbsDfSoftplusScale,
)
from staticgraph.distributions.mixture import Mixture
from staticgraph.distributions.multivariate import (
    MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from staticgraph.distributions.transformed import TransformedDistribution
from staticgraph.distributions.uniform import Uniform

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
