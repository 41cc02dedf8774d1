"""`tf.Module`, and small facts that old programs ask for: classes of error codes, clusters as messages."""

from tests.golden.cases.legacy import old
from tests.golden.runner import answer, error


def net(tf):
    tf = old(tf)

    class Part(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            with self.name_scope:
                self.w = tf.Variable([1.0], name="w")
                self.b = tf.Variable([2.0], trainable=False, name="b")

        @tf.Module.with_name_scope
        def __call__(self, x):
            return x * self.w

    class MyBigNet2D(tf.Module):
        def __init__(self):
            super().__init__()
            self.z = [Part("first"), Part()]
            self.d = {"k": (Part("third"), 3)}
            self.a = tf.Variable(1.0, name="own")

    return MyBigNet2D(), Part


def owned(tf):
    made, _ = net(tf)
    return [made.name, [v.name for v in made.variables], [v.name for v in made.trainable_variables],
            [each.name for each in made.submodules]]  # fmt: skip


def scopes(tf):
    made, part = net(tf)
    first = made.z[0]
    names = [first(tf.constant(2.0)).name, first(tf.constant(2.0)).name, part()(tf.constant(1.0)).name]
    with made.name_scope:
        return [*names, tf.constant(1.0).name]


def codes(tf):
    found, tf = [], old(tf)
    for code in range(1, 17):
        kind = tf.errors.exception_type_from_error_code(code)
        found.append([kind.__name__, tf.errors.error_code_from_exception_type(kind)])
    return found


def cluster(tf):
    made = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
    return tf.train.ClusterSpec(made.as_cluster_def()).as_dict()


CASES = [
    answer("what modules own", owned),
    answer("name scopes of modules", scopes),
    error("a module without a name", lambda tf: net(tf)[1]("a b")),
    answer("classes of error codes", codes),
    error("an unknown error code", lambda tf: old(tf).errors.exception_type_from_error_code(99)),
    answer("a cluster of a message", cluster),
    answer("resource variables", lambda tf: [
        old(tf).disable_v2_tensorshape(), old(tf).disable_control_flow_v2()]),
    error("one GPU", lambda tf: tf.keras.utils.multi_gpu_model(
        tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[2])]), 1)),
    answer("inputs of a tensor", lambda tf: [t.name for t in tf.keras.utils.get_source_inputs(
        tf.keras.layers.Dense(2)(tf.keras.layers.ReLU()(tf.keras.Input([3], name="x"))))]),
]  # fmt: skip
