"""Distributions that only tf.contrib.distributions has: relaxed ones, point masses, half-normal, independent."""

import numpy as np
import tensorflow as tf

ds = tf.contrib.distributions
rng = np.random.RandomState(0)
logits = tf.constant(rng.randn(2, 3), tf.float32)
shares = tf.nn.softmax(tf.constant(rng.randn(4, 2, 3), tf.float32))
scale, x = tf.constant([0.5, 2.0]), tf.constant([[0.3, 1.0], [-0.4, 2.5]])
bernoulli = ds.RelaxedBernoulli(0.6, probs=[0.2, 0.7])
relaxed = ds.RelaxedOneHotCategorical(0.5, logits=logits)
logarithm = ds.ExpRelaxedOneHotCategorical(tf.constant(0.8), probs=tf.nn.softmax(logits))
half = ds.HalfNormal(scale)
point = ds.Deterministic(scale, atol=0.1, rtol=0.2)
vector = ds.VectorDeterministic(logits, atol=0.5)
rows = ds.Independent(ds.Normal(logits, 2.0))
whole = ds.Independent(ds.Normal(logits, 1.0), reinterpreted_batch_ndims=2)
vectors = ds.Independent(ds.MultivariateNormalDiag(tf.zeros([4, 2, 3])), 1)
fetches = {
    "bernoulli_draws": bernoulli.sample(3, seed=1),
    "bernoulli_log_prob": bernoulli.log_prob([[0.1, 0.9], [0.5, 0.3]]),
    "relaxed_draws": relaxed.sample(2, seed=2),
    "relaxed_log_prob": relaxed.log_prob(shares),
    "relaxed_gradient": tf.gradients(relaxed.sample(seed=3)[:, 0], logits)[0],
    "logarithm_draws": logarithm.sample(seed=4),
    "logarithm_log_prob": logarithm.log_prob(tf.log(shares)),
    "half_draws_positive": tf.reduce_all(half.sample(100, seed=5) >= 0),
    "half_prob": half.prob(x),
    "half_log_prob": half.log_prob(tf.abs(x)),
    "half_cdf": half.cdf(x),
    "half_quantile": half.quantile([[0.1, 0.5], [0.9, 0.25]]),
    "half_statistics": tf.stack([half.mean(), half.variance(), half.mode(), half.entropy(), half.stddev()]),
    "point_draws": point.sample(2),
    "point_prob": point.prob([[0.55, 2.6], [0.8, 1.7]]),
    "point_cdf": point.cdf([[0.2, 2.6], [0.45, 1.2]]),
    "point_statistics": tf.stack([point.mean(), point.variance(), point.mode(), point.entropy()]),
    "vector_draws": vector.sample(),
    "vector_prob": vector.prob(logits + [[0.1, 0.2, 0.3], [0.1, 0.9, 0.0]]),
    "rows_draws_mean": rows.mean(),
    "rows_log_prob": rows.log_prob(shares),
    "rows_entropy": rows.entropy(),
    "rows_variance": rows.variance(),
    "whole_log_prob": whole.log_prob(shares),
    "vectors_log_prob": vectors.log_prob(shares),
    "divergence": ds.kl_divergence(rows, ds.Independent(ds.Normal(0.5 * logits, 1.0))),
}
for each in (bernoulli, relaxed, logarithm, half, point, vector, rows, whole, vectors):
    print(each.batch_shape, each.event_shape, each.dtype.name, each.sample(5).shape)
print(bernoulli.reparameterization_type is ds.FULLY_REPARAMETERIZED, rows.reinterpreted_batch_ndims)
with tf.Session() as sess:
    found = sess.run(fetches)
    for name in sorted(found):
        print(name, found[name].shape, ["%.4f" % value for value in np.ravel(found[name])[:12]])
try:
    ds.Independent(ds.Normal(0.0, 1.0), 1)
except ValueError:
    print("refused")
