"""Bijectors of networks, of vectors and of elements: there and back, growth, weights and draws."""


from tests.golden.cases.joint_distributions import bijection
from tests.golden.draws import contrib, draw, positive, real, waves
from tests.golden.runner import answer, error, runs, value


def all_of(bijector, x, tf):
    y = bijector.forward(x)
    back = tf.identity(y)
    return [
        y,
        bijector.inverse(back),
        bijector.forward_log_det_jacobian(x, 1),
        bijector.inverse_log_det_jacobian(back, 1),
    ]


def autoregressive(shift_only=False, **options):
    def build(tf):
        b = contrib(tf).distributions.bijectors
        network = b.masked_autoregressive_default_template(
            [6, 9], shift_only, tf.nn.tanh, -0.2, 0.3, kernel_initializer=waves(tf))
        x = tf.constant(draw("autoregressive", 4, 3))
        made = all_of(b.MaskedAutoregressiveFlow(network, **options), x, tf)
        kernels = [v for v in tf.trainable_variables() if "kernel" in v.name]
        return made + tf.gradients([tf.reduce_sum(m * m) for m in made[1:2]], kernels)

    return build


def real_nvp(shift_only=False):
    def build(tf):
        b = contrib(tf).distributions.bijectors
        network = b.real_nvp_default_template([5], shift_only, tf.nn.relu, kernel_initializer=waves(tf))
        return all_of(b.RealNVP(2, network), tf.constant(draw("real nvp", 4, 5)), tf)

    return build


def chained(tf):
    """A flow of several steps with a permutation between them: the density of given points."""
    ds = contrib(tf).distributions
    b = ds.bijectors
    steps = []
    for _ in range(2):
        network = b.masked_autoregressive_default_template([4], kernel_initializer=waves(tf))
        steps += [b.MaskedAutoregressiveFlow(network), b.Permute([1, 2, 0])]
    flow = ds.TransformedDistribution(
        ds.MultivariateNormalDiag(tf.zeros([3])), b.Invert(b.Chain(steps[:-1])))
    return [flow.log_prob(tf.constant(draw("chained", 6, 3)))]


def flow_names(tf):
    """Names of the weights of two flows, one after the other."""
    b = contrib(tf).distributions.bijectors
    x = tf.zeros([2, 3])
    for _ in range(2):
        b.MaskedAutoregressiveFlow(b.masked_autoregressive_default_template([4])).inverse(x)
    b.RealNVP(1, b.real_nvp_default_template([4])).forward(x)
    b.masked_dense(x, 6, 3, name="alone")
    return [[v.name, v.shape.as_list()] for v in tf.trainable_variables()]


def masks(tf):
    """Kernels of masked layers whose numbers are all one."""
    b, ones, made = contrib(tf).distributions.bijectors, tf.ones_initializer(), []
    for blocks, units, exclusive in ((3, 6, True), (3, 6, False), (1, 4, False), (2, 5, True)):
        b.masked_dense(tf.zeros([1, 3]), units, blocks, exclusive, ones)
        made.append(tf.trainable_variables()[-2])
    return made


def with_graph_seed(tf):
    """The first draws of the weights by the seed of the graph."""
    tf.set_random_seed(7)
    b = contrib(tf).distributions.bijectors
    b.MaskedAutoregressiveFlow(b.masked_autoregressive_default_template([4])).inverse(tf.zeros([2, 3]))
    return [v for v in tf.trainable_variables() if "kernel" in v.name]


def unknown_size(tf):
    b = contrib(tf).distributions.bijectors
    flow = b.MaskedAutoregressiveFlow(b.masked_autoregressive_default_template([4]))
    return flow.inverse(tf.placeholder(tf.float32, [2, None]))


def too_few(tf):
    b = contrib(tf).distributions.bijectors
    return b.RealNVP(3, b.real_nvp_default_template([4])).forward(tf.zeros([2, 3]))


CASES = [
    runs("MaskedAutoregressiveFlow", autoregressive(), tolerance=6.0),
    runs("MaskedAutoregressiveFlow of shifts", autoregressive(shift_only=True), tolerance=6.0),
    runs("MaskedAutoregressiveFlow, unrolled", autoregressive(unroll_loop=True), tolerance=6.0),
    runs("RealNVP", real_nvp(), tolerance=6.0),
    runs("RealNVP of shifts", real_nvp(shift_only=True), tolerance=6.0),
    runs("density of a flow", chained, tolerance=6.0),
    runs("masks", masks),
    runs("weights of a flow by the seed of the graph", with_graph_seed, tolerance=2.0),
    answer("names of weights of flows", flow_names),
    value("bijector Softsign", bijection("Softsign"), real(2, 3), tolerance=3.0),
    value("bijector Square", bijection("Square"), positive(2, 3), tolerance=3.0),
    value("bijector Gumbel", bijection("Gumbel"), real(2, 3), dtypes=("float32",), tolerance=3.0),
    value("bijector Gumbel, moved", bijection("Gumbel", 0.5, 2.0), real(2, 3), dtypes=("float32",),
          tolerance=3.0),
    value("bijector Permute", bijection("Permute", [2, 0, 1], ndims=1), real(4, 3)),
    value("bijector SoftmaxCentered", bijection("SoftmaxCentered", ndims=1), real(4, 3), tolerance=4.0),
    error("flow of an unknown size", unknown_size),
    error("RealNVP that keeps all", too_few),
    error("RealNVP that keeps none", lambda tf: contrib(tf).distributions.bijectors.RealNVP(0, None)),
    error("Permute twice the same", lambda tf: contrib(tf).distributions.bijectors.Permute([0, 0, 1])),
    error("Permute of numbers", lambda tf: contrib(tf).distributions.bijectors.Permute([0.0, 1.0])),
]
