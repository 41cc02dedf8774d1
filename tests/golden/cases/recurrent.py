"""Recurrent networks: cells, their wrappers, and networks made of them, with values, gradients and names."""


from tests.golden.draws import contrib, draw, waves
from tests.golden.runner import answer, error, runs, shape


def flat(structure):
    """The tensors in tuples and lists."""
    if isinstance(structure, (tuple, list)):
        return [leaf for part in structure for leaf in flat(part)]
    return [structure]


def network(label, build, sizes=(3, 4, 2), tolerance=2.0):
    """Return the outputs of a network, the derivatives by its variables and inputs, and its variables' names.

    `build(tf, inputs)` makes it, of inputs [batch, time, features].
    """

    def made(tf):
        inputs = tf.constant(draw(label, *sizes))
        with tf.variable_scope("net", initializer=waves(tf)):
            outputs = flat(build(tf, inputs))
        return inputs, outputs

    def values(tf):
        inputs, outputs = made(tf)
        floating = [each for each in outputs if each.dtype.is_floating]
        numbers = [tf.reshape(tf.range(tf.size(each)), tf.shape(each)) for each in floating]
        weights = [tf.cos(tf.cast(n, each.dtype)) for each, n in zip(floating, numbers)]
        weighted = [tf.reduce_sum(each * weight) for each, weight in zip(floating, weights)]
        by = [*tf.trainable_variables(), inputs]
        grads = [g for g in tf.gradients(tf.add_n(weighted), by) if g is not None]
        return outputs + [tf.convert_to_tensor(g) for g in grads]

    def names(tf):
        made(tf)
        return [v.op.name for v in tf.global_variables()]

    def shapes(tf):
        return made(tf)[1]

    return [
        runs(label, values, times=1, tolerance=tolerance),
        answer("variables of %s" % label, names),
        shape("shapes of %s" % label, shapes),
    ]


CELLS = {
    "BasicRNNCell": lambda tf: tf.nn.rnn_cell.BasicRNNCell(3),
    "BasicRNNCell relu": lambda tf: tf.nn.rnn_cell.BasicRNNCell(3, activation=tf.nn.relu),
    "GRUCell": lambda tf: tf.nn.rnn_cell.GRUCell(3),
    "GRUCell initializers": lambda tf: tf.nn.rnn_cell.GRUCell(
        3, kernel_initializer=tf.constant_initializer(0.3), bias_initializer=tf.constant_initializer(-0.2)
    ),
    "BasicLSTMCell": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(3),
    "BasicLSTMCell one tensor": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(3, 0.5, state_is_tuple=False),
    "LSTMCell": lambda tf: tf.nn.rnn_cell.LSTMCell(3),
    "LSTMCell peepholes": lambda tf: tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True, name="mine"),
    "LSTMCell projection": lambda tf: tf.nn.rnn_cell.LSTMCell(
        3, num_proj=2, proj_clip=0.1, cell_clip=0.4, forget_bias=0.3, activation=tf.nn.relu
    ),
    "LSTMCell one tensor": lambda tf: tf.nn.rnn_cell.LSTMCell(
        3, True, num_proj=2, state_is_tuple=False, initializer=tf.constant_initializer(0.2)
    ),
    "MultiRNNCell": lambda tf: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)]
    ),
    "MultiRNNCell one tensor": lambda tf: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.BasicLSTMCell(n, state_is_tuple=False) for n in (3, 2)], state_is_tuple=False
    ),
    "ResidualWrapper": lambda tf: tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(2)),
    "ResidualWrapper function": lambda tf: tf.nn.rnn_cell.ResidualWrapper(
        tf.nn.rnn_cell.GRUCell(2), lambda inputs, outputs: inputs - 2.0 * outputs
    ),
    "DeviceWrapper": lambda tf: tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(2), "/cpu:0"),
    "DropoutWrapper output": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3), output_keep_prob=0.6, seed=3
    ),
    "DropoutWrapper state": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3), state_keep_prob=0.6, seed=4
    ),
    "DropoutWrapper filter": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3),
        state_keep_prob=0.6,
        seed=4,
        dropout_state_filter_visitor=lambda state: True,
    ),
    "DropoutWrapper variational": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3),
        0.5,
        0.7,
        0.8,
        variational_recurrent=True,
        input_size=2,
        dtype=tf.float32,
        seed=5,
    ),
    "LSTMBlockCell": lambda tf: contrib(tf).rnn.LSTMBlockCell(3, forget_bias=0.4, use_peephole=True),
    "GRUBlockCell": lambda tf: contrib(tf).rnn.GRUBlockCell(3),
    "GRUBlockCellV2": lambda tf: contrib(tf).rnn.GRUBlockCellV2(3),
    "LayerNormBasicLSTMCell": lambda tf: contrib(tf).rnn.LayerNormBasicLSTMCell(3, norm_gain=0.7),
    "LayerNormBasicLSTMCell plain": lambda tf: contrib(tf).rnn.LayerNormBasicLSTMCell(3, layer_norm=False),
    "NASCell": lambda tf: contrib(tf).rnn.NASCell(3, use_bias=True),
    "NASCell projection": lambda tf: contrib(tf).rnn.NASCell(3, num_proj=2),
    "UGRNNCell": lambda tf: contrib(tf).rnn.UGRNNCell(3),
    "IntersectionRNNCell": lambda tf: contrib(tf).rnn.IntersectionRNNCell(3, num_in_proj=3),
    "CoupledInputForgetGateLSTMCell": lambda tf: contrib(tf).rnn.CoupledInputForgetGateLSTMCell(
        3, use_peepholes=True, num_proj=2, proj_clip=0.2
    ),
    "CoupledInputForgetGateLSTMCell norm": lambda tf: contrib(tf).rnn.CoupledInputForgetGateLSTMCell(
        3, layer_norm=True, norm_shift=0.1
    ),
    "OutputProjectionWrapper": lambda tf: contrib(tf).rnn.OutputProjectionWrapper(
        tf.nn.rnn_cell.GRUCell(3), 2, activation=tf.nn.relu
    ),
    "InputProjectionWrapper": lambda tf: contrib(tf).rnn.InputProjectionWrapper(tf.nn.rnn_cell.GRUCell(3), 4),
    "HighwayWrapper": lambda tf: contrib(tf).rnn.HighwayWrapper(tf.nn.rnn_cell.GRUCell(2)),
    "HighwayWrapper two gates": lambda tf: contrib(tf).rnn.HighwayWrapper(
        tf.nn.rnn_cell.GRUCell(2), couple_carry_transform_gates=False
    ),
    "CudnnCompatibleLSTMCell": lambda tf: contrib(tf).cudnn_rnn.CudnnCompatibleLSTMCell(3),
    "CudnnCompatibleGRUCell": lambda tf: contrib(tf).cudnn_rnn.CudnnCompatibleGRUCell(3),
    "AttentionCellWrapper": lambda tf: contrib(tf).rnn.AttentionCellWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(3), 3, state_is_tuple=True
    ),
    "AttentionCellWrapper one tensor": lambda tf: contrib(tf).rnn.AttentionCellWrapper(
        tf.nn.rnn_cell.GRUCell(3), 2, attn_size=4, attn_vec_size=2, state_is_tuple=False
    ),
}


def dynamic(cell, **options):
    return lambda tf, x: tf.nn.dynamic_rnn(cell(tf), x, dtype=tf.float32, **options)


def static(cell, **options):
    return lambda tf, x: tf.nn.static_rnn(cell(tf), tf.unstack(x, axis=1), dtype=tf.float32, **options)


def both(name, **options):
    """The two kinds of bidirectional networks."""

    def build(tf, x):
        cells = [tf.nn.rnn_cell.BasicLSTMCell(3), tf.nn.rnn_cell.GRUCell(2)]
        inputs = tf.unstack(x, axis=1) if name.startswith("static") else x
        return getattr(tf.nn, name)(*cells, inputs, dtype=tf.float32, **options)

    return build


def stacked(name):
    def build(tf, x):
        cells = [[tf.nn.rnn_cell.GRUCell(n) for n in (3, 2)] for _ in range(2)]
        inputs = x if "dynamic" in name else tf.unstack(x, axis=1)
        return getattr(contrib(tf).rnn, name)(*cells, inputs, dtype=tf.float32, sequence_length=[4, 1, 2])

    return build


def fused(reverse=False, **options):
    def build(tf, x):
        cell = contrib(tf).rnn.LSTMBlockFusedCell(3, use_peephole=True)
        if reverse:
            cell = contrib(tf).rnn.TimeReversedFusedRNN(cell)
        outputs, state = cell(tf.transpose(x, [1, 0, 2]), dtype=tf.float32, **options)
        return [outputs, *state]

    return build


def own_cell(tf, x):
    """A cell of the user's that makes its variables in `call`."""

    class Leaky(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 3

        def call(self, inputs, state):
            kernel = tf.get_variable("kernel", [inputs.shape[1], 3])
            state = 0.5 * state + tf.matmul(inputs, kernel)
            return tf.tanh(state), state

    return tf.nn.dynamic_rnn(Leaky(), x, sequence_length=[4, 2, 3], dtype=tf.float32)


def called_twice(tf, x):
    """The same cell over two sequences: its variables are shared."""
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    with tf.variable_scope("a"):
        first, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    with tf.variable_scope("b"):
        second, _ = tf.nn.dynamic_rnn(cell, x, initial_state=state)
    return first, second


def pairs(tf, x):
    """Inputs that are a tuple."""

    class Sum(tf.nn.rnn_cell.RNNCell):
        state_size, output_size = (2, 2), (2, 1)

        def call(self, inputs, state):
            one, two = state[0] + inputs[0], state[1] * inputs[1]
            return (one, tf.reduce_sum(two, 1, keepdims=True)), (one, two)

    start = (tf.zeros([3, 2]), tf.ones([3, 2]))
    return tf.nn.dynamic_rnn(Sum(), (x, x + 1.0), initial_state=start, sequence_length=[1, 4, 2])


def symbols(tf, rows=2, steps=3):
    return [tf.constant([(5 * t + 3 * r + 1) % 4 for r in range(rows)]) for t in range(steps)]


def legacy(name, *sizes, cell="GRUCell", **options):
    """A function of contrib.legacy_seq2seq, of numbers of symbols."""

    def build(tf, x):
        function = getattr(contrib(tf).legacy_seq2seq, name)
        made = {key: value(tf) if callable(value) else value for key, value in options.items()}
        return function(symbols(tf), symbols(tf, steps=2), getattr(tf.nn.rnn_cell, cell)(3), *sizes, **made)

    return build


def char_rnn(feed):
    """The model of char-rnn: a stack of LSTMs, and its output fed back when it writes."""

    def build(tf, x):
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(3) for _ in range(2)])
        with tf.variable_scope("rnnlm"):
            weights, bias = tf.get_variable("softmax_w", [3, 5]), tf.get_variable("softmax_b", [5])
        embedding = tf.get_variable("embedding", [5, 3])
        rows = tf.nn.embedding_lookup(embedding, [[0, 3, 2], [1, 4, 4]])
        inputs = [tf.squeeze(row, [1]) for row in tf.split(rows, 3, 1)]

        def loop(prev, _):
            prev = tf.matmul(prev, weights) + bias
            return tf.nn.embedding_lookup(embedding, tf.stop_gradient(tf.argmax(prev, 1)))

        outputs, last = contrib(tf).legacy_seq2seq.rnn_decoder(
            inputs, cell.zero_state(2, tf.float32), cell, loop_function=loop if feed else None, scope="rnnlm"
        )
        output = tf.reshape(tf.concat(outputs, 1), [-1, 3])
        logits = tf.matmul(output, weights) + bias
        loss = contrib(tf).legacy_seq2seq.sequence_loss_by_example(
            [logits], [tf.constant([0, 3, 2, 1, 4, 0])], [tf.ones([6])]
        )
        return [loss, last]

    return build


def buckets(tf, x):
    legacy_seq2seq = contrib(tf).legacy_seq2seq
    weights = [tf.constant([1.0, 0.5])] * 3
    return legacy_seq2seq.model_with_buckets(
        symbols(tf), symbols(tf), symbols(tf), weights, [(1, 2), (3, 3)],
        lambda before, after: legacy_seq2seq.embedding_rnn_seq2seq(
            before, after, tf.nn.rnn_cell.GRUCell(3), 4, 4, 2
        ),
    )


def many(tf, x):
    outputs, states = contrib(tf).legacy_seq2seq.one2many_rnn_seq2seq(
        symbols(tf), {"a": symbols(tf, steps=2)}, tf.nn.rnn_cell.GRUCell(3), {"a": tf.nn.rnn_cell.GRUCell(3)},
        4, {"a": 5}, 2,
    )
    return outputs["a"], states["a"]


def attention(tf, x):
    return contrib(tf).legacy_seq2seq.attention_decoder(
        tf.unstack(x[:, :2], axis=1), tf.ones([3, 3]), x, tf.nn.rnn_cell.GRUCell(3), output_size=4,
        num_heads=2, initial_state_attention=True,
    )


def placeholder_shapes(tf):
    x = tf.placeholder(tf.float32, [None, None, 3])
    cells = [tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.GRUCell(2)]
    outputs, states = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)
    return flat([outputs, states])


def zero_states(tf):
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.GRUCell(2)])
    return flat([cell.zero_state(3, tf.float32), cell.zero_state(tf.placeholder(tf.int32, []), tf.float32)])


def sizes(tf):
    made = []
    for make in CELLS.values():
        cell = make(tf)
        made.append([repr(cell.state_size), repr(cell.output_size)])
    return made


def cell_error(cell, *inputs, **options):
    return lambda tf: tf.nn.dynamic_rnn(cell(tf), *(make(tf) for make in inputs), **options)


X = lambda tf: tf.zeros([2, 3, 4])  # noqa: E731
GRU = CELLS["GRUCell"]

CASES = [
    [network("%s over a tensor" % name, dynamic(make)) for name, make in CELLS.items()],
    [network("%s over a list" % name, static(make)) for name, make in CELLS.items()],
    [network("%s, lengths" % name, dynamic(CELLS[name], sequence_length=[2, 4, 1]))
     for name in ("BasicRNNCell", "GRUCell", "BasicLSTMCell", "LSTMCell one tensor", "MultiRNNCell",
                  "AttentionCellWrapper")],
    network("a list, lengths", static(CELLS["BasicLSTMCell"], sequence_length=[2, 4, 0])),
    network("time major", lambda tf, x: tf.nn.dynamic_rnn(
        CELLS["LSTMCell"](tf), tf.transpose(x, [1, 0, 2]), dtype=tf.float32, time_major=True, scope="tm",
        sequence_length=[2, 4, 1], swap_memory=True, parallel_iterations=1)),
    network("a state to begin with", lambda tf, x: tf.nn.dynamic_rnn(
        GRU(tf), x, initial_state=tf.concat([x[:, 0], x[:, 1, :1]], 1))),
    network("a user's cell", own_cell),
    network("a cell called twice", called_twice),
    network("structures", pairs),
    [network("%s %s" % (name, sorted(options)), both(name, **options))
     for name in ("bidirectional_dynamic_rnn", "static_bidirectional_rnn")
     for options in ({}, {"sequence_length": [1, 4, 3]}, {"scope": "mine"})],
    [network(name, stacked(name)) for name in ("stack_bidirectional_rnn", "stack_bidirectional_dynamic_rnn")],
    network("LSTMBlockFusedCell", fused()),
    network("LSTMBlockFusedCell, lengths", fused(sequence_length=[2, 4, 1])),
    network("LSTMBlockFusedCell, reversed", fused(reverse=True, sequence_length=[2, 4, 1])),
    network("char-rnn", char_rnn(False)),
    network("char-rnn, writing", char_rnn(True)),
    network("model_with_buckets", buckets),
    network("one2many_rnn_seq2seq", many),
    network("attention_decoder", attention),
    network("basic_rnn_seq2seq", lambda tf, x: contrib(tf).legacy_seq2seq.basic_rnn_seq2seq(
        tf.unstack(x, axis=1), tf.unstack(x + 1.0, axis=1)[:2], tf.nn.rnn_cell.BasicLSTMCell(3))),
    network("tied_rnn_seq2seq", lambda tf, x: contrib(tf).legacy_seq2seq.tied_rnn_seq2seq(
        tf.unstack(x, axis=1), tf.unstack(x + 1.0, axis=1)[:2], tf.nn.rnn_cell.GRUCell(3))),
    [network("embedding_rnn_seq2seq, %s" % how, legacy("embedding_rnn_seq2seq", 4, 5, 2, **options))
     for how, options in (("given", {}), ("fed", {"feed_previous": True}),
                          ("fed by a tensor", {"feed_previous": lambda tf: tf.constant(True)}))],
    network("embedding_tied_rnn_seq2seq", legacy("embedding_tied_rnn_seq2seq", 4, 2, num_decoder_symbols=5)),
    network("embedding_attention_seq2seq", legacy("embedding_attention_seq2seq", 4, 5, 2, num_heads=2)),
    network("embedding_attention_seq2seq, fed", legacy(
        "embedding_attention_seq2seq", 4, 5, 2, cell="BasicLSTMCell", feed_previous=True)),

    shape("shapes of unknown batches and times", placeholder_shapes),
    shape("zero states", zero_states),
    answer("sizes of cells", sizes),
    error("dynamic_rnn without dtype", cell_error(GRU, X)),
    error("dynamic_rnn of no cell", cell_error(lambda tf: 3, X, dtype="float32")),
    error("dynamic_rnn of a matrix", cell_error(GRU, lambda tf: tf.zeros([2, 3]), dtype="float32")),
    error("dynamic_rnn of unknown features",
          cell_error(GRU, lambda tf: tf.placeholder(tf.float32, [2, 3, None]), dtype="float32")),
    error("dynamic_rnn with a matrix of lengths",
          cell_error(GRU, X, sequence_length=[[1, 2]], dtype="float32")),
    error("static_rnn of a tensor", lambda tf: tf.nn.static_rnn(GRU(tf), 3.0, dtype=tf.float32)),
    error("static_rnn of nothing", lambda tf: tf.nn.static_rnn(GRU(tf), [], dtype=tf.float32)),
    error("static_rnn without dtype", lambda tf: tf.nn.static_rnn(GRU(tf), [tf.zeros([2, 3])])),
    error("MultiRNNCell of nothing", lambda tf: tf.nn.rnn_cell.MultiRNNCell([])),
    error("MultiRNNCell of a cell", lambda tf: tf.nn.rnn_cell.MultiRNNCell(GRU(tf))),
    error("MultiRNNCell of tuples in one tensor",
          lambda tf: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(2)], state_is_tuple=False)),
    error("DropoutWrapper of no probability", lambda tf: tf.nn.rnn_cell.DropoutWrapper(GRU(tf), 1.5)),
    error("DropoutWrapper without dtype",
          lambda tf: tf.nn.rnn_cell.DropoutWrapper(GRU(tf), 0.5, variational_recurrent=True)),
    error("DropoutWrapper without input_size", lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        GRU(tf), 0.5, variational_recurrent=True, dtype=tf.float32)),
    error("the same cell made twice", lambda tf: [
        tf.nn.dynamic_rnn(GRU(tf), X(tf), dtype=tf.float32) for _ in range(2)]),
    error("GRUBlockCell without a size", lambda tf: contrib(tf).rnn.GRUBlockCell()),
    error("model_with_buckets of short lists", lambda tf: contrib(tf).legacy_seq2seq.model_with_buckets(
        [], [], [], [], [(1, 2)], None)),
]
