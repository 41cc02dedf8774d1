"""Probability distributions, with TensorFlow 1's names: `sg.distributions`.

Besides those of `tf.distributions` there are those of `tf.contrib.distributions` that programs use.
 Made by tools/type_stubs.py."""

from staticgraph.tf1.distributions import (
    bijectors as bijectors,
)
from staticgraph.tf1.distributions.base import (
    Distribution as Distribution,
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from staticgraph.tf1.distributions.counts import (
    Binomial as Binomial,
    DirichletMultinomial as DirichletMultinomial,
    Multinomial as Multinomial,
    NegativeBinomial as NegativeBinomial,
)
from staticgraph.tf1.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Geometric as Geometric,
    OneHotCategorical as OneHotCategorical,
    Poisson as Poisson,
)
from staticgraph.tf1.distributions.divergence import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from staticgraph.tf1.distributions.gamma import (
    Beta as Beta,
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    Chi2 as Chi2,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    Gamma as Gamma,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    InverseGamma as InverseGamma,
)
from staticgraph.tf1.distributions.half_normal import (
    HalfNormal as HalfNormal,
)
from staticgraph.tf1.distributions.independent import (
    Independent as Independent,
)
from staticgraph.tf1.distributions.location_scale import (
    Cauchy as Cauchy,
    Laplace as Laplace,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    Logistic as Logistic,
    Normal as Normal,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
    StudentT as StudentT,
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from staticgraph.tf1.distributions.mixture import (
    Mixture as Mixture,
)
from staticgraph.tf1.distributions.mixture_same_family import (
    MixtureSameFamily as MixtureSameFamily,
)
from staticgraph.tf1.distributions.multivariate import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from staticgraph.tf1.distributions.point_mass import (
    Deterministic as Deterministic,
    VectorDeterministic as VectorDeterministic,
)
from staticgraph.tf1.distributions.relaxed import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from staticgraph.tf1.distributions.statistics import (
    fill_triangular as fill_triangular,
    percentile as percentile,
    softplus_inverse as softplus_inverse,
)
from staticgraph.tf1.distributions.transformed import (
    TransformedDistribution as TransformedDistribution,
)
from staticgraph.tf1.distributions.uniform import (
    Uniform as Uniform,
)
