"""Distributions of vectors, and those made of others: densities, statistics, divergences, and bijectors."""

from tests.golden.cases.distributions import distribution, divergence, module
from tests.golden.draws import positive, real
from tests.golden.runner import answer, error, runs, value


def mixture(tf, logits, loc, scale):
    ds = module(tf)
    return ds.Mixture(ds.Categorical(logits=logits), [ds.Normal(loc, scale), ds.Laplace(loc + 1.0, scale)])


def log_normal(tf, loc, scale):
    ds = module(tf)
    return ds.TransformedDistribution(ds.Normal(loc, scale), ds.bijectors.Exp())


def bijection(name, *arguments, ndims=0, **options):
    """All that a bijector offers, on the way there and back."""

    def build(tf, x):
        made = getattr(module(tf).bijectors, name)(*arguments, **options)
        y = made.forward(x)
        return [
            y,
            made.inverse(tf.identity(y)),
            made.forward_log_det_jacobian(x, ndims),
            made.inverse_log_det_jacobian(tf.identity(y), ndims),
        ]

    return build


def other_shapes(options, loc):
    """A distribution of scalars, with given shapes of a draw or of a batch: density and a draw."""

    def build(tf, y):
        ds = module(tf)
        made = ds.TransformedDistribution(ds.Normal(tf.constant(loc), 1.5), ds.bijectors.Exp(), **options)
        shapes = [made.batch_shape_tensor(), made.event_shape_tensor()]
        return [made.log_prob(y), made.prob(y), made.sample(2, seed=3), *shapes]

    return build


def same_family(tf, logits, loc, scale, x):
    """Normal components, and a choice for each of two batches: the density and the moments."""
    ds = tf.contrib.distributions
    mixed = ds.MixtureSameFamily(ds.Categorical(logits=logits), ds.Normal(loc, scale))
    return [mixed.log_prob(x), mixed.cdf(x), mixed.mean(), mixed.variance(), mixed.stddev()]


def vectors_of_one_family(tf, logits, loc, x):
    """Components that are vectors, with one choice for all."""
    ds = tf.contrib.distributions
    parts = ds.MultivariateNormalDiag(loc, tf.ones_like(loc) / 2)
    mixed = ds.MixtureSameFamily(ds.Categorical(logits=logits), parts)
    shapes = tf.concat([mixed.batch_shape_tensor(), mixed.event_shape_tensor()], 0)
    return [mixed.prob(x), mixed.mean(), mixed.variance(), mixed.covariance(), tf.cast(shapes, x.dtype)]


def drawn_of_one_family(tf):
    tf.set_random_seed(3)
    ds = tf.contrib.distributions
    mixed = ds.MixtureSameFamily(ds.Categorical(probs=[0.3, 0.7]), ds.Normal([[-1.0, 1.0], [4.0, 5.0]], 0.25))
    return [mixed.sample(5).shape.as_list(), mixed.batch_shape.as_list(), mixed.event_shape.as_list()]


MIXED = real(2, 3), real(2, 3), real(2, 3, low=0.5), real(2)

CASES = [
    value("MixtureSameFamily", same_family, *MIXED, tolerance=3),
    value("MixtureSameFamily of vectors", vectors_of_one_family, real(3), real(3, 2), real(2), tolerance=3),
    answer("MixtureSameFamily drawn", drawn_of_one_family),
    error("MixtureSameFamily of other sizes", lambda tf: tf.contrib.distributions.MixtureSameFamily(
        tf.distributions.Categorical(probs=[0.3, 0.7]), tf.distributions.Normal([1.0, 2.0, 3.0], 1.0))),
    value(
        "Multinomial",
        lambda tf, logits: [
            f
            for one in [tf.distributions.Multinomial(tf.constant(4, logits.dtype), logits)]
            for f in (
                one.log_prob(tf.constant([1, 0, 3], logits.dtype)),
                one.mean(),
                one.variance(),
                one.covariance(),
            )
        ],
        real(2, 3),
        tolerance=3.0,
    ),
    value(
        "DirichletMultinomial",
        lambda tf, a: [
            f
            for one in [tf.distributions.DirichletMultinomial(tf.constant(4, a.dtype), a)]
            for f in (
                one.log_prob(tf.constant([1, 0, 3], a.dtype)),
                one.mean(),
                one.variance(),
                one.covariance(),
            )
        ],
        positive(2, 3),
        tolerance=10.0,
    ),
    value(
        "NegativeBinomial",
        lambda tf, logits: [
            f
            for one in [module(tf).NegativeBinomial(tf.constant([0.5, 3.0, 4.0], logits.dtype), logits)]
            for x in [tf.constant([0, 3, 1], logits.dtype)]
            for f in (one.log_prob(x), one.mean(), one.variance())
        ],
        real(3),
        tolerance=10.0,
    ),
    value(
        "NegativeBinomial.cdf",
        lambda tf, logits: module(tf).NegativeBinomial(3.0, logits).cdf([0.0, 3.0, 1.0]),
        real(3),
        grad=False,
        dtypes=("float32",),
        tolerance=10.0,
    ),
    runs(
        "NegativeBinomial.sample",
        lambda tf: module(tf).NegativeBinomial([3.0, 1.5], probs=[0.4, 0.2]).sample(4, seed=3),
    ),
    [
        value(
            "percentile %g along %s, %s" % (q, axis, word),
            lambda tf, x, q=q, a=axis, w=word: [
                module(tf).percentile(x, q, axis=a, interpolation=w),
                module(tf).percentile(x, q, axis=a, interpolation=w, keep_dims=True),
            ],
            real(3, 4, 5),
        )
        for q, axis, word in (
            (0.0, None, None), (30.0, 1, "nearest"), (77.0, [0, 2], "lower"), (50.0, [-1], "higher"),
            (100.0, None, "lower"),
        )
    ],
    error("percentile between", lambda tf: module(tf).percentile([1.0, 2.0], 50.0, interpolation="linear")),
    value("softplus_inverse", lambda tf, x: module(tf).softplus_inverse(x), positive(5)),
    [
        value(
            "fill_triangular of %d" % n,
            lambda tf, x: [module(tf).fill_triangular(x), module(tf).fill_triangular(x, upper=True)],
            real(2, n),
        )
        for n in (1, 3, 6)
    ],
    error("fill_triangular of 4", lambda tf: module(tf).fill_triangular([1.0, 2.0, 3.0, 4.0])),
    value(
        "Binomial",
        lambda tf, logits: [
            f
            for one in [module(tf).Binomial(tf.constant(4, logits.dtype), logits)]
            for f in (one.log_prob(tf.constant(3, logits.dtype)), one.mean(), one.variance(), one.mode())
        ],
        real(3),
        tolerance=10.0,
    ),
    [
        distribution(
            name,
            parameters,
            real(4, 3),
            "log_prob prob",
            "entropy mode mean variance stddev covariance",
            tolerance=3.0,
        )
        for name, parameters in (("MultivariateNormalDiag", (real(2, 1, 3), positive(3))),)
    ],
    value(
        "MultivariateNormalDiag of a multiple",
        lambda tf, x, loc: [
            f
            for one in [module(tf).MultivariateNormalDiag(loc, scale_identity_multiplier=2.0)]
            for f in (one.log_prob(x), one.stddev())
        ],
        real(3),
        real(3),
        dtypes=("float32",),
    ),
    value(
        "MultivariateNormalTriL",
        lambda tf, x, loc, m: [
            f
            for one in [
                module(tf).MultivariateNormalTriL(loc, tf.matrix_set_diag(m, tf.exp(tf.matrix_diag_part(m))))
            ]
            for f in (one.log_prob(x), one.entropy(), one.mean(), one.variance(), one.covariance())
        ],
        real(2, 3),
        real(3),
        real(3, 3),
        tolerance=10.0,
    ),
    value(
        "MultivariateNormalFullCovariance",
        lambda tf, x, m: (
            module(tf)
            .MultivariateNormalFullCovariance(
                [0.5, -1.0], tf.matmul(m, m, transpose_b=True) + tf.constant([[1.0, 0.0], [0.0, 1.0]])
            )
            .log_prob(x)
        ),
        real(3, 2),
        real(2, 2),
        dtypes=("float32",),
        tolerance=10.0,
    ),
    value(
        "MultivariateNormalDiag divergence",
        divergence("MultivariateNormalDiag", 2),
        real(2, 3),
        positive(3),
        real(3),
        positive(2, 3),
        tolerance=3.0,
    ),
    value(
        "MultivariateNormalTriL divergence",
        lambda tf, a, b, m: module(tf).kl_divergence(
            module(tf).MultivariateNormalDiag(a, tf.exp(b)),
            module(tf).MultivariateNormalTriL(b, tf.matrix_set_diag(m, tf.exp(tf.matrix_diag_part(m)))),
        ),
        real(3),
        real(3),
        real(3, 3),
        tolerance=10.0,
    ),
    value(
        "Mixture",
        lambda tf, x, logits, loc, scale: [
            f
            for one in [mixture(tf, logits, loc, scale)]
            for f in (one.log_prob(x), one.log_cdf(x), one.mean(), one.variance(), one.entropy_lower_bound())
        ],
        real(3),
        real(3, 2),
        real(3),
        positive(3),
        tolerance=3.0,
    ),
    value(
        "TransformedDistribution",
        lambda tf, x, loc, scale: [
            f for one in [log_normal(tf, loc, scale)] for f in (one.log_prob(x), one.prob(x), one.cdf(x))
        ],
        positive(3),
        real(3),
        positive(3),
        tolerance=3.0,
    ),
    value(
        "TransformedDistribution of vectors",
        lambda tf, x, diag: (
            module(tf)
            .TransformedDistribution(
                module(tf).MultivariateNormalDiag(tf.zeros_like(diag), diag), module(tf).bijectors.Exp()
            )
            .log_prob(x)
        ),
        positive(4, 3),
        positive(3),
        tolerance=3.0,
    ),
    [
        value("bijector %s" % name, bijection(name), real(2, 3), tolerance=3.0)
        for name in ("Identity", "Exp", "Sigmoid", "Softplus")
    ],
    value(
        "bijector Softplus of a softness",
        bijection("Softplus", 0.5),
        real(2, 3),
        dtypes=("float32",),
        tolerance=3.0,
    ),
    value("bijector over events", bijection("Sigmoid", ndims=1), real(2, 3), tolerance=3.0),
    value("bijector PowerTransform", bijection("PowerTransform", 0.5), positive(2, 3), tolerance=3.0),
    value(
        "bijector Affine",
        bijection("Affine", shift=[1.0, 2.0, 3.0], scale_diag=[1.0, -2.0, 0.5], ndims=1),
        real(2, 3),
        dtypes=("float32",),
    ),
    value(
        "bijector Affine of a triangle",
        bijection("Affine", shift=[1.0, 2.0], scale_tril=[[1.0, 0.0], [3.0, 2.0]], ndims=1),
        real(4, 2),
        dtypes=("float32",),
    ),
    [value(
        "bijector Affine of low rank added to %s" % name,
        bijection("Affine", shift=[1.0, 2.0], scale_perturb_factor=[[0.5], [-2.0]], ndims=1, **options),
        real(4, 2),
        dtypes=("float32",),
        tolerance=3.0,
    ) for name, options in (
        ("the identity", {}),
        ("a multiple", {"scale_identity_multiplier": 1.5, "scale_perturb_diag": [0.75]}),
        ("a diagonal", {"scale_diag": [1.0, 3.0]}),
        ("a triangle", {"scale_tril": [[1.0, 0.0], [3.0, 2.0]], "scale_perturb_diag": [0.75]}),
    )],
    [value("TransformedDistribution, %s" % name, other_shapes(options, loc), positive(4, 3),
           dtypes=("float32",))
     for name, options, loc in (
         ("event_shape", {"event_shape": [3]}, 0.2),
         ("batch_shape", {"batch_shape": [3]}, 0.2),
         ("both shapes", {"batch_shape": [4], "event_shape": [3]}, 0.2),
         ("event_shape of a batch", {"event_shape": [3]}, [0.1, -0.2, 0.3, 0.4]),
     )],
    error("TransformedDistribution, batch_shape of a batch", lambda tf: other_shapes(
        {"batch_shape": [3]}, [0.1, 0.2])(tf, None)),
    value(
        "bijector Chain",
        lambda tf, x: [
            f
            for b in [module(tf).bijectors]
            for one in [b.Chain([b.Exp(), b.Softplus()])]
            for f in (
                one.forward(x),
                one.inverse(tf.exp(tf.exp(x))),
                one.forward_log_det_jacobian(x, 1),
                one.inverse_log_det_jacobian(tf.exp(tf.exp(x)), 1),
            )
        ],
        real(2, 3),
        tolerance=3.0,
    ),
]
