"""Probability distributions, with TensorFlow 1's names: `sg.distributions`.

Besides those of `tf.distributions` there are those of `tf.contrib.distributions` that programs use.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.distributions.base": (
            "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"
        ),
        "staticgraph.tf1.distributions.counts": (
            "Binomial DirichletMultinomial Multinomial NegativeBinomial"
        ),
        "staticgraph.tf1.distributions.discrete": (
            "Bernoulli Categorical Geometric OneHotCategorical Poisson"
        ),
        "staticgraph.tf1.distributions.divergence": "kl_divergence RegisterKL",
        "staticgraph.tf1.distributions.gamma": (
            "Beta BetaWithSoftplusConcentration Chi2 Dirichlet Exponential ExponentialWithSoftplusRate "
            "Gamma GammaWithSoftplusConcentrationRate InverseGamma"
        ),
        "staticgraph.tf1.distributions.half_normal": "HalfNormal",
        "staticgraph.tf1.distributions.independent": "Independent",
        "staticgraph.tf1.distributions.location_scale": (
            "Cauchy Laplace LaplaceWithSoftplusScale Logistic Normal NormalWithSoftplusScale StudentT "
            "StudentTWithAbsDfSoftplusScale"
        ),
        "staticgraph.tf1.distributions.mixture": "Mixture",
        "staticgraph.tf1.distributions.mixture_same_family": "MixtureSameFamily",
        "staticgraph.tf1.distributions.multivariate": (
            "MultivariateNormalDiag MultivariateNormalDiagWithSoftplusScale "
            "MultivariateNormalFullCovariance MultivariateNormalTriL"
        ),
        "staticgraph.tf1.distributions.point_mass": "Deterministic VectorDeterministic",
        "staticgraph.tf1.distributions.relaxed": (
            "ExpRelaxedOneHotCategorical RelaxedBernoulli RelaxedOneHotCategorical"
        ),
        "staticgraph.tf1.distributions.statistics": "fill_triangular percentile softplus_inverse",
        "staticgraph.tf1.distributions.transformed": "TransformedDistribution",
        "staticgraph.tf1.distributions.uniform": "Uniform",
    },
    modules={"bijectors": "staticgraph.tf1.distributions.bijectors"},
)
