"""Distributions: densities, statistics and divergences with their gradients, samples, names, errors."""

from tests.golden.draws import ints, positive, real, simplex
from tests.golden.runner import answer, error, runs, shape, value


def module(tf):
    """Return TensorFlow's `contrib.distributions`, or our `distributions`."""
    return tf.contrib.distributions if hasattr(tf, "contrib") else tf.distributions


def of_value(name, *methods):
    """Functions of the first input; the others are the parameters."""

    def build(tf, x, *parameters):
        distribution = getattr(module(tf), name)(*parameters)
        return [getattr(distribution, method)(x) for method in methods]

    return build


def statistics(name, *methods):
    def build(tf, *parameters):
        distribution = getattr(module(tf), name)(*parameters)
        return [getattr(distribution, method)() for method in methods]

    return build


def divergence(name, count):
    """Half of the inputs are parameters of the one, half of the other."""

    def build(tf, *parameters):
        kind = getattr(module(tf), name)
        p, q = kind(*parameters[:count]), kind(*parameters[count:])
        return [module(tf).kl_divergence(p, q), p.cross_entropy(q)]

    return build


def distribution(name, parameters, x, functions, summaries, tolerance=1.0):
    """Cases of one class, whose parameters are drawn."""
    values = functions.split()
    return [
        [
            value("%s.%s" % (name, method), of_value(name, method), x, *parameters, tolerance=tolerance)
            for method in values
        ],
        value("%s statistics" % name, statistics(name, *summaries.split()), *parameters, tolerance=tolerance),
    ]


def sampled(name, *arguments, **options):
    return runs(
        "%s.sample" % name, lambda tf: getattr(module(tf), name)(*arguments, **options).sample(4, seed=3)
    )


ALL = "log_prob prob cdf log_cdf survival_function log_survival_function"
MOMENTS = "mean variance stddev"
LOC, SCALE = real(3), positive(2, 1)


def one_hot(tf, x, *parameters):
    """A vector with a 1 at a class, as a value for OneHotCategorical."""
    kind = module(tf).OneHotCategorical(*parameters, dtype=x.dtype)
    return kind.log_prob(tf.one_hot(tf.argmax(x, -1), 3, dtype=x.dtype))


def named(tf):
    """Names of a distribution and of the operations of its methods."""
    normal = tf.distributions.Normal([0.0, 1.0], 2.0)
    again = tf.distributions.Normal(0.0, 1.0, name="policy")
    with tf.name_scope("outer"):
        inner = tf.distributions.Categorical(logits=[0.0, 1.0])
    return [
        normal.name,
        again.name,
        inner.name,
        normal.loc.name,
        normal.scale.name,
        inner.logits.name,
        inner.probs.name,
        normal.sample(2).name,
        tf.distributions.Normal(0.0, 1.0).name,
    ]


def shapes(tf):
    ds = tf.distributions
    unknown = tf.placeholder(tf.float32, [None, 4])
    made = [
        ds.Normal(unknown, 1.0),
        ds.Categorical(logits=unknown),
        ds.Dirichlet(tf.nn.softplus(unknown)),
        ds.Multinomial(3.0, logits=unknown),
        ds.Normal([[0.0], [1.0]], [1.0, 2.0, 3.0]),
    ]
    known = [shape for one in made for shape in (one.batch_shape, one.event_shape)]
    return [None if one.ndims is None else one.as_list() for one in known]


CASES = [
    [
        distribution(name, (LOC, SCALE), real(2, 3), ALL, "entropy mode " + MOMENTS, tolerance=3.0)
        for name in ("Normal", "Laplace", "Logistic")
    ],
    value("Cauchy", of_value("Cauchy", *ALL.split()[:4]), real(2, 3), LOC, SCALE),
    value(
        "Cauchy.quantile", of_value("Cauchy", "quantile"), real(4, low=0.1, high=0.9), real(4), positive(4)
    ),
    [
        value(
            "%s far out" % name,
            of_value(name, "log_cdf", "log_survival_function"),
            real(9, low=-40.0, high=40.0),
            real(1),
            positive(1),
        )
        for name in ("Normal", "Laplace", "Logistic")
    ],
    value(
        "Normal.quantile",
        of_value("Normal", "quantile"),
        real(40, low=0.001, high=0.999),
        real(1),
        positive(1),
    ),
    value(
        "Normal.quantile in the tails",
        lambda tf: tf.distributions.Normal(0.0, 1.0).quantile(
            [0.0, 1e-30, 1e-12, 1e-4, 0.13, 0.14, 0.5, 0.86, 0.87, 0.9999, 1.0]
        ),
    ),
    value(
        "NormalWithSoftplusScale", of_value("NormalWithSoftplusScale", "log_prob"), real(3), real(3), real(3)
    ),
    value("Normal divergence", divergence("Normal", 2), LOC, SCALE, real(3), positive(3)),
    value(
        "divergence of a subclass",
        lambda tf, a, b, c, d: module(tf).kl_divergence(
            module(tf).NormalWithSoftplusScale(a, b), module(tf).Normal(c, d)
        ),
        real(2),
        real(2),
        real(2),
        positive(2),
    ),
    value(
        "StudentT",
        of_value("StudentT", "log_prob", "prob"),
        real(3),
        real(3, low=2.5, high=9.0),
        real(3),
        positive(3),
        tolerance=3.0,
    ),
    value(
        "StudentT statistics",
        statistics("StudentT", "entropy", "mode", "mean", "variance", "stddev"),
        real(3, low=2.5, high=9.0),
        real(3),
        positive(3),
        dtypes=("float32",),
        tolerance=3.0,
    ),
    value(
        "StudentT.cdf",
        lambda tf, x: tf.distributions.StudentT([1.0, 2.5, 7.0], 0.5, 1.5).cdf(x),
        real(3),
        grad=False,
        dtypes=("float32",),
    ),
    value(
        "StudentT without moments",
        lambda tf: [
            f()
            for one in [tf.distributions.StudentT([0.5, 1.5, 2.5], 1.0, 2.0)]
            for f in (one.mean, one.variance)
        ],
    ),
    value(
        "Uniform",
        lambda tf, x, low, size: [
            getattr(tf.distributions.Uniform(low, low + size), method)(x) for method in ("prob", "cdf")
        ],
        real(5, 2),
        real(2),
        positive(2),
    ),
    value(
        "Uniform statistics",
        lambda tf, low, size: [
            getattr(tf.distributions.Uniform(low, low + size), method)()
            for method in ("entropy", "mean", "variance", "stddev", "range")
        ],
        real(2),
        positive(2),
    ),
    distribution(
        "Gamma",
        (positive(3), positive(2, 1)),
        positive(2, 3),
        "log_prob prob",
        "entropy " + MOMENTS,
        tolerance=3.0,
    ),
    value(
        "Gamma.cdf",
        lambda tf, x: tf.distributions.Gamma([0.5, 2.0, 5.0], 1.5).cdf(x),
        positive(3),
        dtypes=("float32",),
    ),
    value("Gamma.mode", lambda tf: tf.distributions.Gamma([0.5, 1.0, 5.0], 1.5).mode()),
    value(
        "Gamma divergence",
        divergence("Gamma", 2),
        positive(2),
        positive(2),
        positive(2),
        positive(2),
        tolerance=3.0,
    ),
    distribution(
        "Exponential",
        (positive(2),),
        positive(3, 2),
        "log_prob prob cdf log_survival_function",
        "mean variance entropy",
        tolerance=3.0,
    ),
    distribution(
        "Chi2", (positive(3),), positive(3), "log_prob prob", "mean variance entropy", tolerance=3.0
    ),
    distribution(
        "InverseGamma",
        (real(3, low=2.5, high=5.0), positive(3)),
        positive(3),
        "log_prob prob",
        "entropy mode mean variance",
        tolerance=10.0,
    ),
    distribution(
        "Beta",
        (positive(3), positive(2, 1)),
        real(2, 3, low=0.1, high=0.9),
        "log_prob prob",
        "entropy " + MOMENTS,
        tolerance=3.0,
    ),
    value(
        "Beta.cdf",
        lambda tf, x: tf.distributions.Beta([0.5, 2.0, 5.0], 1.5).cdf(x),
        real(3, low=0.1, high=0.9),
        dtypes=("float32",),
        tolerance=3.0,
    ),
    value("Beta.mode", lambda tf: tf.distributions.Beta([0.5, 2.0, 5.0], 1.5).mode()),
    value(
        "Beta divergence",
        divergence("Beta", 2),
        positive(2),
        positive(2),
        positive(2),
        positive(2),
        tolerance=3.0,
    ),
    distribution(
        "Dirichlet",
        (positive(2, 3),),
        simplex(2, 3),
        "log_prob prob",
        "entropy mean variance stddev covariance",
        tolerance=3.0,
    ),
    value("Dirichlet.mode", lambda tf: tf.distributions.Dirichlet([2.0, 3.0, 4.0]).mode()),
    value("Dirichlet divergence", divergence("Dirichlet", 1), positive(2, 3), positive(2, 3), tolerance=3.0),
    [
        value(
            "Bernoulli, %s" % label,
            lambda tf, p, label=label: [
                f
                for one in [tf.distributions.Bernoulli(**{label: p})]
                for f in (
                    one.log_prob([0, 1, 1]),
                    one.prob([[1, 0, 1]]),
                    one.entropy(),
                    one.mean(),
                    one.variance(),
                    one.stddev(),
                    one.mode(),
                    one.logits,
                    one.probs,
                )
            ],
            draw,
            tolerance=3.0,
        )
        for label, draw in (("logits", real(3)), ("probs", real(3, low=0.1, high=0.9)))
    ],
    value("Bernoulli divergence", divergence("Bernoulli", 1), real(3), real(3), tolerance=3.0),
    [
        value(
            "Categorical, %s" % label,
            lambda tf, p, label=label: [
                f
                for one in [tf.distributions.Categorical(**{label: p})]
                for f in (
                    one.log_prob([0, 2]),
                    one.prob([[1, 1], [0, 2]]),
                    one.cdf([1, 2]),
                    one.entropy(),
                    one.mode(),
                    one.event_size,
                )
            ],
            draw,
            tolerance=3.0,
        )
        for label, draw in (("logits", real(2, 3)), ("probs", simplex(2, 3)))
    ],
    value(
        "Categorical of one row",
        lambda tf, logits: tf.distributions.Categorical(logits).log_prob([[0, 1], [2, 1]]),
        real(3),
    ),
    value(
        "Categorical of a floating class",
        lambda tf, logits: tf.distributions.Categorical(logits).log_prob(2.0),
        real(3),
    ),
    value("Categorical divergence", divergence("Categorical", 1), real(2, 3), real(2, 3), tolerance=3.0),
    value("OneHotCategorical", one_hot, real(2, 3), real(2, 3)),
    value(
        "OneHotCategorical statistics",
        statistics("OneHotCategorical", "entropy", "variance", "covariance", "mode"),
        real(2, 3),
    ),
    value(
        "OneHotCategorical divergence",
        divergence("OneHotCategorical", 1),
        real(2, 3),
        real(2, 3),
        tolerance=3.0,
    ),
    value(
        "Geometric",
        lambda tf, x, logits: [
            getattr(module(tf).Geometric(logits), method)(tf.cast(x, logits.dtype))
            for method in ("log_prob", "cdf")
        ],
        ints(4, low=0),
        real(4),
        tolerance=3.0,
    ),
    value(
        "Geometric statistics",
        statistics("Geometric", "entropy", "mode", "mean", "variance"),
        real(4),
        tolerance=3.0,
    ),
    value(
        "Poisson",
        lambda tf, x, rate: [
            getattr(module(tf).Poisson(rate), method)(tf.cast(x, rate.dtype))
            for method in ("log_prob", "cdf")
        ],
        ints(4, low=0),
        positive(4),
        tolerance=3.0,
    ),
    value("Poisson statistics", statistics("Poisson", "mode", "mean", "variance", "stddev"), positive(4)),
    value(
        "Poisson of log_rate",
        lambda tf, rate: module(tf).Poisson(log_rate=rate).log_prob([1.0, 2.0, 3.0]),
        real(3),
        dtypes=("float32",),
    ),
    sampled("Normal", [0.0, 1.0], 2.0),
    sampled("Laplace", [0.0, 1.0], 2.0),
    sampled("Logistic", [0.0, 1.0], 2.0),
    sampled("Uniform", [0.0, 1.0], 2.0),
    sampled("Exponential", [1.0, 2.0]),
    sampled("Bernoulli", [0.0, 1.0, -1.0]),
    sampled("Categorical", [[0.0, 1.0, -1.0], [1.0, 1.0, 5.0]]),
    sampled("OneHotCategorical", [[0.0, 1.0, -1.0], [1.0, 1.0, 5.0]]),
    sampled("Geometric", [0.0, -1.0]),
    sampled("Gamma", [0.5, 2.0], 3.0),
    sampled("Beta", [0.5, 2.0], 3.0),
    sampled("Dirichlet", [[0.5, 2.0, 4.0], [1.0, 1.0, 1.0]]),
    sampled("StudentT", [3.0, 4.5], 1.0, 2.0),
    sampled("InverseGamma", [2.0, 5.0], 3.0),
    sampled("Poisson", [0.5, 20.0]),
    sampled("MultivariateNormalDiag", [0.0, 1.0], [2.0, 3.0]),
    sampled("MultivariateNormalTriL", [0.0, 1.0], [[2.0, 0.0], [1.0, 3.0]]),
    runs("Normal.sample in the graph", lambda tf: tf.distributions.Normal(0.0, 1.0).sample([2, 3], seed=7)),
    value(
        "gradients through a sample",
        lambda tf, loc, scale: tf.distributions.Normal(loc, scale).sample([5], seed=2),
        real(3),
        positive(3),
        dtypes=("float32",),
    ),
    shape(
        "sample shapes",
        lambda tf: [
            tf.distributions.Normal([0.0, 1.0], 1.0).sample(),
            tf.distributions.Normal([0.0, 1.0], 1.0).sample([3, 4]),
            tf.distributions.Categorical([[0.0, 1.0]]).sample(5),
            tf.distributions.Dirichlet([1.0, 2.0]).sample([2, 3]),
            tf.distributions.Gamma([1.0, 2.0], 1.0).sample(7),
            tf.distributions.Beta([1.0, 2.0], 1.0).sample(7),
            tf.distributions.Multinomial(2.0, [0.0, 1.0]).sample(5),
            tf.distributions.Normal(tf.placeholder(tf.float32, [None]), 1.0).sample(2),
        ],
    ),
    answer("names", named),
    answer("shapes", shapes),
    answer(
        "reparameterization",
        lambda tf: [
            one.reparameterization_type is tf.distributions.FULLY_REPARAMETERIZED
            for one in (
                tf.distributions.Normal(0.0, 1.0),
                tf.distributions.Bernoulli(0.5),
                tf.distributions.Gamma(1.0, 1.0),
                tf.distributions.Categorical([0.5, 0.5]),
            )
        ],
    ),
    answer(
        "a copy",
        lambda tf: [
            sorted(one.parameters) + [one.name]
            for one in (tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(0.0, 1.0).copy(scale=2.0))
        ],
    ),
    error("Normal of whole numbers", lambda tf: tf.distributions.Normal(0, 1)),
    error("Normal of two types", lambda tf: tf.distributions.Normal(0, 1.0)),
    error(
        "Normal of a negative scale", lambda tf: tf.distributions.Normal(0.0, -1.0, validate_args=True).mean()
    ),
    error("Uniform upside down", lambda tf: tf.distributions.Uniform(2.0, 1.0, validate_args=True).mean()),
    error("Bernoulli of nothing", lambda tf: tf.distributions.Bernoulli()),
    error("Bernoulli of both", lambda tf: tf.distributions.Bernoulli(logits=0.0, probs=0.5)),
    error("Bernoulli of whole logits", lambda tf: tf.distributions.Bernoulli(logits=1)),
    error(
        "no divergence",
        lambda tf: tf.distributions.kl_divergence(
            tf.distributions.Normal(0.0, 1.0), tf.distributions.Uniform(0.0, 1.0)
        ),
    ),
    error("no quantile", lambda tf: tf.distributions.Gamma(1.0, 1.0).quantile(0.5)),
    error(
        "a divergence registered twice",
        lambda tf: tf.distributions.RegisterKL(tf.distributions.Normal, tf.distributions.Normal)(
            lambda a, b, name=None: None
        ),
    ),
    error(
        "shapes that do not fit", lambda tf: tf.distributions.Normal([0.0, 1.0], [1.0, 2.0, 3.0]).batch_shape
    ),
]
