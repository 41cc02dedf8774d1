"""Devices by name, `tf.config`, and rules about flags: what programs say before they build a graph."""

from tests.golden.cases.legacy import old
from tests.golden.runner import answer, error


def placed(tf):
    """Devices of variables that parameter servers share."""
    tf = old(tf)
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "d:2"], "worker": ["b:2", "c:3"]})
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1/gpu:0")
    with tf.device(setter):
        hidden = tf.layers.dense(tf.ones([2, 3]), 4)
        step = tf.train.get_or_create_global_step()
        with tf.device("/cpu:0"):
            inner = tf.Variable(1.0)
    with tf.device(tf.train.replica_device_setter(3)):
        plain = [tf.Variable(1.0) for _ in range(4)]
    chosen = tf.train.replica_device_setter(2, ps_strategy=lambda op: 1)(plain[0].op)
    made = [*tf.trainable_variables()[:2], step, hidden, inner, *plain]
    return [each.device for each in made] + [chosen]


def specs(tf):
    """Names of devices, put together and taken apart."""
    tf = old(tf)
    spec = tf.DeviceSpec.from_string("/job:worker/task:2")
    spec.merge_from(tf.DeviceSpec(device_type="gpu", device_index=1))
    with tf.device(tf.DeviceSpec(job="ps", device_type="CPU", device_index=0)):
        x = tf.constant(1)
    parts = [spec.job, spec.replica, spec.task, spec.device_type, spec.device_index]
    names = [each.to_string() for each in (
        spec, tf.DeviceSpec(), tf.DeviceSpec(device_type="CPU"), tf.DeviceSpec.from_string("/cpu:0"),
        tf.DeviceSpec.from_string("/job:a/replica:1/device:GPU:*"))]  # fmt: skip
    return [*parts, *names, x.device]


def configured(tf):
    """Wishes that are given, and asked for again."""
    tf = old(tf)
    devices = tf.config.experimental.list_physical_devices("CPU")
    tf.config.set_soft_device_placement(False)
    before = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(True)
    tf.config.optimizer.set_jit(True)
    jit = bool(tf.config.optimizer.get_jit())
    tf.config.optimizer.set_jit(False)
    return [devices[0].name, devices[0].device_type, len(devices), before, jit,
            tf.config.experimental.list_physical_devices("GPU")]  # fmt: skip


def shapes(tf):
    tf = old(tf)
    s, d = tf.TensorShape, tf.Dimension
    others = s([2, 3]), s([None, 4]), s([3])
    alike = [s([None, 3]).most_specific_compatible_shape(other) for other in others]
    return [None if each.ndims is None else each.as_list() for each in alike] + [
        tf.compat.dimension_value(s([None, 3])[1]), tf.compat.dimension_value(d(None)),
        d(3).assert_is_compatible_with(d(None)), tf.get_logger().name]  # fmt: skip


def flags(tf, *arguments, required=False):
    """The values of flags of which one excludes another."""
    tf = old(tf)
    values = tf.flags.FlagValues()
    for name in ("first", "second"):
        tf.flags.DEFINE_string(name, None, "help", flag_values=values)
    tf.flags.mark_flags_as_mutual_exclusive(["first", "second"], required=required, flag_values=values)
    tf.flags.DEFINE_multi_enum("kinds", ["a"], ["a", "b"], "help", flag_values=values)
    tf.flags.DEFINE_alias("other", "kinds", flag_values=values)
    tf.flags.DEFINE_spaceseplist("words", "x y", "help", flag_values=values)
    tf.flags.register_multi_flags_validator(
        ["kinds", "words"], lambda given: len(given["kinds"]) <= len(given["words"]), flag_values=values)
    values(["program", *arguments])
    return [values.first, values.second, values.kinds, values.other, values.words]


def jobs(tf):
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:1"]})
    return sorted([job.name, dict(job.tasks)[0]] for job in cluster.as_cluster_def().job)


def multiplied(tf, **options):
    """A product of matrices that may have many zeros, its name, and shape."""
    tf = old(tf)
    made = tf.sparse_matmul(tf.ones([3, 2]), tf.ones([3, 4]), transpose_a=True, **options)
    with tf.Session() as sess:
        return [made.op.name, made.shape.as_list(), sess.run(made).tolist()]


CASES = [
    answer("sparse_matmul", multiplied),
    answer("sparse_matmul of zeros", lambda tf: multiplied(tf, a_is_sparse=True, name="product")),
    answer("devices of variables on servers", placed),
    answer("parts of devices", specs),
    answer("tf.config", configured),
    answer("shapes that have something in common", shapes),
    answer("jobs of a message", jobs),
    answer("flags", lambda tf: flags(tf)),
    answer("flags that are given", lambda tf: flags(
        tf, "--first=1", "--kinds=b", "--kinds", "a", "--words=p q")),
    error("flags that exclude each other", lambda tf: flags(tf, "--first=1", "--second=2")),
    error("flags of which one is needed", lambda tf: flags(tf, required=True)),
    error("a flag of another kind", lambda tf: flags(tf, "--kinds=c")),
    error("flags that do not fit", lambda tf: flags(tf, "--words=p", "--kinds=a", "--kinds=b")),
    error("no name of a device", lambda tf: old(tf).DeviceSpec.from_string("/job:a/what:0")),
]  # fmt: skip
