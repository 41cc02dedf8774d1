"""Moving averages in scopes: their names, what a Saver restores in place of what, and their operations."""

from tests.golden.runner import answer


def averages(zero_debias, use):
    """`use` of an average of variables and a tensor, before and after it is applied."""

    def build(tf):
        v = tf.Variable(10.0, name="v")
        with tf.name_scope("outer"):
            w = tf.Variable(30.0, name="w")
            with tf.variable_scope("inner"):
                u = tf.get_variable("u", [])
            total = tf.constant(1.0) + v
        with tf.name_scope("place"):
            average = tf.train.ExponentialMovingAverage(0.25, zero_debias=zero_debias, name="mean")
            before = use(tf, average, v, w, u, total)
            average.apply([v, w, u])
            average.apply([total])
        return [before, use(tf, average, v, w, u, total)]

    return build


def restored(pick):
    """Pairs of a name in a checkpoint and the variable that is restored from it."""

    def use(tf, average, *listed):
        found = average.variables_to_restore(pick(*listed))
        return sorted([name, v.op.name] for name, v in found.items())

    return use


CASES = [
    [answer("%s, zero_debias=%s" % (name, zero_debias), averages(zero_debias, use))
     for zero_debias in (False, True)
     for name, use in (
         ("names", lambda tf, average, *listed: [average.average_name(each) for each in listed]),
         ("restored", restored(lambda *listed: None)),
         ("one restored", restored(lambda v, w, u, total: [v])),
         ("two restored", restored(lambda v, w, u, total: [w, u])),
         ("operations",
          lambda tf, *_: [op.name for op in tf.get_default_graph().get_operations()
                          if op.name.startswith(("place/mean", "outer/add/mean"))]),
     )],
]  # fmt: skip
