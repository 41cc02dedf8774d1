"""Graphs as messages: the nodes of single ops, imports, collections, what is frozen and cut out of graphs."""

import os
import tempfile

import numpy as np

from tests.golden.runner import answer, error

IMAGE = [1, 4, 4, 2]


def real(tf, *shape):
    return tf.placeholder(tf.float32, list(shape), name="x")


def parts(node, left_out=("_class", "_output_shapes")):
    """A node as plain values; numbers of inputs and attributes as text."""
    attrs = [[key, str(node.attr[key])] for key in sorted(node.attr) if key not in left_out]
    return [node.name, node.op, list(node.input), attrs]


def node(name, build):
    """The case of one op: its node, and those of the constants that it takes."""

    def told(tf):
        made = build(tf)
        made = made[0] if isinstance(made, (list, tuple)) else made
        op = getattr(made, "op", made)
        nodes = {each.name: each for each in tf.get_default_graph().as_graph_def().node}
        mine = nodes[op.name]
        constants = [nodes[each] for each in mine.input if each in nodes and nodes[each].op == "Const"]
        return [parts(each) for each in [mine] + constants]

    return answer(name, told)


def kernel(tf):
    return tf.placeholder(tf.float32, [3, 3, 2, 4], name="k")


def four(tf):
    return real(tf, *IMAGE)


NODES = [
    node("placeholder", lambda tf: tf.placeholder(tf.int64, [None, 3])),
    node("placeholder of unknown rank", lambda tf: tf.placeholder(tf.float32)),
    node("placeholder with default", lambda tf: tf.placeholder_with_default(tf.constant(1.0), [])),
    node("constant", lambda tf: tf.constant([[1, 2], [3, 4]])),
    node("constant of strings", lambda tf: tf.constant(["a", "bc"])),
    node("constant of one value", lambda tf: tf.constant(2.5)),
    node("matmul", lambda tf: tf.matmul(real(tf, 2, 3), real(tf, 2, 3), transpose_a=True)),
    node("batched matmul", lambda tf: tf.matmul(real(tf, 2, 3, 3), real(tf, 2, 3, 3), adjoint_b=True)),
    node(
        "conv2d", lambda tf: tf.nn.conv2d(four(tf), kernel(tf), [1, 2, 2, 1], "SAME", dilations=[1, 1, 1, 1])
    ),
    node("depthwise", lambda tf: tf.nn.depthwise_conv2d_native(four(tf), kernel(tf), [1, 1, 1, 1], "VALID")),
    node("max_pool", lambda tf: tf.nn.max_pool(four(tf), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    node("avg_pool", lambda tf: tf.nn.avg_pool(four(tf), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")),
    node("bias_add", lambda tf: tf.nn.bias_add(four(tf), real(tf, 2))),
    node("lrn", lambda tf: tf.nn.lrn(four(tf), depth_radius=3, alpha=0.5)),
    node("batch norm", lambda tf: tf.nn.fused_batch_norm(four(tf), real(tf, 2), real(tf, 2), epsilon=0.01)),
    node("relu", lambda tf: tf.nn.relu(real(tf, 2))),
    node("leaky_relu", lambda tf: tf.nn.leaky_relu(real(tf, 2), 0.3)),
    node("softmax", lambda tf: tf.nn.softmax(real(tf, 2, 3))),
    node("reduce_sum", lambda tf: tf.reduce_sum(real(tf, 2, 3), [1], keepdims=True)),
    node("reduce_mean over all", lambda tf: tf.reduce_mean(real(tf, 2, 3))),
    node("reduce_max", lambda tf: tf.reduce_max(real(tf, 2, 3), -1)),
    node("argmax", lambda tf: tf.argmax(real(tf, 2, 3), 1, output_type=tf.int32)),
    node("cast", lambda tf: tf.cast(real(tf, 2), tf.int32)),
    node("reshape", lambda tf: tf.reshape(real(tf, 2, 3), [3, -1])),
    node("transpose", lambda tf: tf.transpose(real(tf, 2, 3), [1, 0])),
    node("concat", lambda tf: tf.concat([real(tf, 2), real(tf, 3)], 0)),
    node("stack", lambda tf: tf.stack([real(tf, 2), real(tf, 2)], 1)),
    node("unstack", lambda tf: tf.unstack(real(tf, 2, 3), axis=1)),
    node("split", lambda tf: tf.split(real(tf, 2, 4), 2, 1)),
    node("split into sizes", lambda tf: tf.split(real(tf, 2, 4), [1, 3], 1)),
    node("squeeze", lambda tf: tf.squeeze(real(tf, 1, 2, 1), [0])),
    node("squeeze all", lambda tf: tf.squeeze(real(tf, 1, 2, 1))),
    node("expand_dims", lambda tf: tf.expand_dims(real(tf, 2), 1)),
    node("slice", lambda tf: tf.slice(real(tf, 4), [1], [2])),
    node("gather", lambda tf: tf.gather(real(tf, 4, 2), [0, 2], axis=1)),
    node("tile", lambda tf: tf.tile(real(tf, 2), [3])),
    node("pad", lambda tf: tf.pad(real(tf, 2), [[1, 2]])),
    node("mirror pad", lambda tf: tf.pad(real(tf, 2), [[1, 1]], "REFLECT")),
    node("one_hot", lambda tf: tf.one_hot(tf.constant([0, 2]), 3)),
    node("range", lambda tf: tf.range(2, 8, 3)),
    node("fill", lambda tf: tf.fill([2], 3.0)),
    node("shape", lambda tf: tf.shape(real(tf, 2, None))),
    node("top_k", lambda tf: tf.nn.top_k(real(tf, 4), 2)),
    node("add_n", lambda tf: tf.add_n([real(tf, 2), real(tf, 2)])),
    node("equal", lambda tf: tf.equal(real(tf, 2), real(tf, 2))),
    node("squared difference", lambda tf: tf.squared_difference(real(tf, 2), real(tf, 2))),
    node("stop_gradient", lambda tf: tf.stop_gradient(real(tf, 2))),
    node("random", lambda tf: tf.random_uniform([2], seed=3)),
    node("truncated_normal", lambda tf: tf.truncated_normal([2], seed=3)),
    node("cumsum", lambda tf: tf.cumsum(real(tf, 2, 3), 1, exclusive=True)),
    node("resize", lambda tf: tf.image.resize_bilinear(four(tf), [2, 2], align_corners=True)),
    node("space_to_depth", lambda tf: tf.space_to_depth(four(tf), 2)),
    node("variable", lambda tf: tf.Variable([1.0, 2.0], name="v")),
    node("assign", lambda tf: tf.assign(tf.Variable([1.0], name="v"), [2.0])),
    node("assign_add", lambda tf: tf.assign_add(tf.Variable([1.0], name="v"), [2.0])),
    node("scatter_add", lambda tf: tf.scatter_add(tf.Variable([1.0, 2.0], name="v"), [1], [2.0])),
    node("initializer", lambda tf: tf.Variable([1.0], name="v").initializer),
    node("read", lambda tf: tf.identity(tf.Variable([1.0], name="v")).op.inputs[0]),
    node("read_value", lambda tf: tf.Variable([1.0], name="v").read_value()),
    node("a group", lambda tf: tf.group(tf.no_op(name="a"), tf.no_op(name="b"), name="both")),
]


def net(tf):
    """A placeholder, a variable and what is made of them."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=np.float32([[1.0, 2.0], [3.0, 4.0]]))
    return tf.identity(tf.nn.relu(tf.matmul(x, w, name="product")), name="y")


def imported(tf, *args, **kwargs):
    """Names of the operations after a graph was imported, and of what came back."""
    with tf.Graph().as_default() as graph:
        net(tf)
    found = tf.import_graph_def(graph.as_graph_def(), *args, **kwargs)
    names = [op.name for op in tf.get_default_graph().get_operations()]
    return [names, None if found is None else [each.name for each in found]]


def twice(tf):
    imported(tf)
    return imported(tf, return_elements=["y", "x:0"])


def into_the_same_names(tf):
    net(tf)
    return imported(tf, name="", return_elements=["y:0"])


def in_scopes(tf):
    with tf.name_scope("outer"), tf.control_dependencies([tf.no_op(name="before")]):
        out = imported(tf, name="inner", return_elements=["y"])
    inner = tf.get_default_graph().get_operation_by_name("outer/inner/x")
    return [out, [each.name for each in inner.control_inputs]]


def mapped(tf):
    x = tf.constant([[1.0, 1.0]], name="mine")
    out = imported(tf, {"x": x, "w/read:0": tf.ones([2, 2])}, ["product"])
    product = tf.get_default_graph().get_operation_by_name("import/product")
    return [out[1], [each.name for each in product.inputs]]


def collections(tf, scope=None):
    """Return the collections after a graph went through a meta graph.

    TensorFlow puts the scope before texts too, which is left out here.
    """
    y = net(tf)
    step = tf.train.get_or_create_global_step()
    tf.add_to_collection("tensors", y)
    tf.add_to_collection("operations", y.op)
    if scope is None:
        tf.add_to_collection("texts", "a")
        tf.add_to_collection("bytes", b"b")
    tf.add_to_collection("whole", 3)
    tf.add_to_collection("broken", 0.1)
    tf.add_to_collection("mine", step)
    made = tf.train.export_meta_graph()
    kinds = {key: made.collection_def[key].WhichOneof("kind") for key in sorted(made.collection_def)}
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(made, import_scope=scope)
        read = {key: [told(item) for item in graph.get_collection(key)] for key in sorted(kinds)}
        variables = [tf.trainable_variables()[0] is tf.global_variables()[0]]
        variables += [v.initializer.name for v in tf.global_variables()]
        variables += [tf.identity(v).op.inputs[0].name for v in tf.global_variables()]
    return [kinds, read, variables]


def told(item):
    if isinstance(item, bytes):
        return "bytes %s" % item.decode()
    return item if isinstance(item, (int, float, str)) else item.name


def chosen_collections(tf):
    tf.add_to_collection("a", 1)
    tf.add_to_collection("b", 2)
    return sorted(tf.train.export_meta_graph(collection_list=["b"]).collection_def)


def checkpoints(tf):
    """A Saver of a graph that was read: what it restores, and which files there are."""
    folder = tempfile.mkdtemp()
    with tf.Session() as sess:
        net(tf)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver(max_to_keep=2).save(sess, os.path.join(folder, "m"), global_step=3)
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(sess, path)
        value = sess.run("y:0", {"x:0": [[1.0, -1.0]]}).tolist()
        definition = saver.as_saver_def()
    metas = sorted(name for name in os.listdir(folder) if name.endswith("meta"))
    return [value, metas, definition.max_to_keep, os.path.basename(path)]


def nothing_to_save(tf):
    tf.constant(1.0)
    return tf.train.import_meta_graph(tf.train.export_meta_graph()) is None


def graph_of_net(tf):
    net(tf)
    return tf.get_default_graph().as_graph_def()


def extracted(tf):
    return [each.name for each in tf.graph_util.extract_sub_graph(graph_of_net(tf), ["product"]).node]


def frozen(tf, **options):
    with tf.Session() as sess:
        given = graph_of_net(tf)
        sess.run(tf.global_variables_initializer())
        made = tf.graph_util.convert_variables_to_constants(sess, given, ["y"], **options)
    return [parts(each) for each in made.node]


def without_training(tf):
    made = tf.graph_util.remove_training_nodes(graph_of_net(tf), protected_nodes=["y"])
    return [
        [each.name, list(each.input)] for each in made.node if each.name in ("product", "Relu", "y", "w/read")
    ]


def on_cpu(tf):
    ops = [tf.constant(1).op, tf.constant(1.0).op, tf.constant("a").op, tf.Variable(1.0, name="v").op]
    ops.append(tf.cast(tf.constant(1), tf.float32).op)
    check = tf.graph_util.must_run_on_cpu
    return [[check(op), check(op, pin_variables_on_cpu=True)] for op in ops]


def signature(tf):
    x, text = tf.placeholder(tf.float32, [None, 2], name="x"), tf.placeholder(tf.string, name="s")
    utils = tf.saved_model.signature_def_utils
    made = [
        utils.predict_signature_def({"a": x}, {"b": x}),
        utils.regression_signature_def(text, x),
        utils.classification_signature_def(text, text, x),
        utils.classification_signature_def(text, None, x),
        utils.build_signature_def({"a": tf.saved_model.utils.build_tensor_info(x)}, method_name="mine"),
    ]
    return [[str(each), utils.is_valid_signature(each)] for each in made]


def sparse_info(tf):
    given = tf.SparseTensor(
        tf.constant([[0, 1]], tf.int64), tf.constant([1.0]), tf.constant([2, 3], tf.int64)
    )
    return str(tf.saved_model.utils.build_tensor_info(given))


def saved(tf):
    """The message of a SavedModel as the loader gives it, and what the graph gives then."""
    folder = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Session() as sess:
        y = net(tf)
        x = tf.get_default_graph().get_tensor_by_name("x:0")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        key = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        y = sess.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist()
    files = sorted(os.path.join(at.replace(folder, ""), f) for at, _, names in os.walk(folder) for f in names)
    return [list(found.meta_info_def.tags), str(found.signature_def[key]), y, files]


def constants(tf):
    modules = [tf.saved_model.signature_constants, tf.saved_model.tag_constants, tf.saved_model.constants]
    return [{name: getattr(each, name) for name in sorted(dir(each)) if name.isupper()} for each in modules]


def load_nothing(tf):
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["serve"], os.path.join(tempfile.mkdtemp(), "nothing"))


def load_other_tags(tf):
    folder = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Session() as sess:
        y = net(tf)
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"y": y}, {"y": y})
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.loader.load(sess, ["train"], folder)


def save_into_a_full_folder(tf):
    folder = tempfile.mkdtemp()
    open(os.path.join(folder, "file"), "w").close()
    tf.saved_model.builder.SavedModelBuilder(folder)


def graph_def(tf):
    return getattr(tf, "messages", tf).GraphDef()


def unknown_op(tf):
    made = graph_def(tf)
    made.node.add(name="a", op="NoSuchOp")
    tf.import_graph_def(made)


def unknown_input(tf):
    made = graph_def(tf)
    made.node.add(name="a", op="NoOp").input.append("b")
    tf.import_graph_def(made)


def cycle(tf):
    made = graph_def(tf)
    for name, other in (("a", "b"), ("b", "a")):
        made.node.add(name=name, op="NoOp").input.append("^" + other)
    tf.import_graph_def(made)


CASES = [
    *NODES,
    answer("import", imported),
    answer("import twice", twice),
    answer("import into the same names", into_the_same_names),
    answer("import in scopes", in_scopes),
    answer("import with other inputs", mapped),
    answer("collections", collections),
    answer("collections in a scope", lambda tf: collections(tf, "in")),
    answer("chosen collections", chosen_collections),
    answer("checkpoints", checkpoints),
    answer("no saver", nothing_to_save),
    answer("extract_sub_graph", extracted),
    answer("frozen", frozen),
    answer("frozen in part", lambda tf: frozen(tf, variable_names_blacklist=["w"])),
    answer("remove_training_nodes", without_training),
    answer("must_run_on_cpu", on_cpu),
    answer("signatures", signature),
    answer("a sparse tensor", sparse_info),
    answer("saved model", saved),
    answer("constants of saved models", constants),
    error("import what is no graph", lambda tf: tf.import_graph_def(3)),
    error("import an unknown op", unknown_op),
    error("import an unknown input", unknown_input),
    error("import a cycle", cycle),
    error("an input that is not there", lambda tf: imported(tf, {"z": tf.constant(1.0)})),
    error("an element that is not there", lambda tf: imported(tf, return_elements=["z"])),
    error("no meta graph", lambda tf: tf.train.import_meta_graph("/no/such/file.meta")),
    error("extract an unknown node", lambda tf: tf.graph_util.extract_sub_graph(graph_def(tf), ["a"])),
    error("load nothing", load_nothing),
    error("load other tags", load_other_tags),
    error("save into a full folder", save_into_a_full_folder),
    error("an empty signature", lambda tf: tf.saved_model.predict_signature_def({}, {})),
]
