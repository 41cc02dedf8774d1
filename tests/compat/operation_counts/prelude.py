"""Placeholders and variables of the calls and scripts of this folder, and what is looked at afterwards.

It runs under TensorFlow 1.15 too, with Python 3.7.
"""


def names(tf, np):
    """Return the names that calls and scripts may use, made in the default graph."""
    tf.set_random_seed(7)
    made = {"tf": tf, "np": np}
    shapes = [
        ("x", [None, 8]), ("x3", [None, 5, 4]), ("x4", [None, 8, 8, 3]), ("x4n", [None, 3, 8, 8]),
        ("fx", [2, 8]), ("fx3", [2, 5, 4]), ("fx3b", [3, 5, 4]), ("f4", [2, 8, 8, 3]), ("y2", [8]),
        ("kp", []),
    ]  # fmt: skip
    made.update((name, tf.placeholder(tf.float32, shape)) for name, shape in shapes)
    made.update(
        (name, tf.placeholder(tf.int32, shape))
        for name, shape in (("y", [None]), ("y1", [None, 1]), ("n", []))
    )
    made["t"] = tf.placeholder(tf.bool, [])
    sizes = (("v", [8]), ("v2", [8, 8]), ("v2b", [8, 8]), ("vk", [3, 3, 3, 4]))
    made.update((name, tf.Variable(np.ones(shape, np.float32))) for name, shape in sizes)
    return made


def counted(tf, np, call):
    """Return the number of operations of a call, and the default seeds in it, less those before."""
    with tf.Graph().as_default() as graph:
        here = names(tf, np)
        before = graph._last_id
        exec(call, here)  # noqa: S102
        made = graph._last_id - before
        nodes = [node for node in graph.as_graph_def().node if "seed2" in node.attr and node.attr["seed2"].i]
        return [made, [node.attr["seed2"].i - before for node in nodes]]


def weights(tf, np, script):
    """Return the initial values of all variables of a script: the first of each, and their sum."""
    with tf.Graph().as_default():
        exec(script, names(tf, np))  # noqa: S102
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            variables = tf.trainable_variables()[4:]
            values = session.run(variables)
        return {
            variable.name: [float(value.sum())] + [float(number) for number in value.flatten()[:3]]
            for variable, value in zip(variables, values)  # noqa: B905
        }


def read(folder):
    """Return the calls, and the scripts by their titles."""
    with open(folder + "/calls.txt") as file:
        calls = file.read().splitlines()
    with open(folder + "/scripts.txt") as file:
        parts = [part.split("\n", 1) for part in file.read().strip().split("\n\n")]
    return calls, {title.lstrip("# "): script for title, script in parts}
