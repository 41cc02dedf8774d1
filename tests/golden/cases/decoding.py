"""contrib.seq2seq: helpers, decoders, attention and beam search; and `raw_rnn`, which also ends by itself."""

import numpy as np

from tests.golden.cases.recurrent import flat, network
from tests.golden.draws import contrib, generator
from tests.golden.runner import error, runs

WORDS, UNITS = 7, 3


def embedding(tf):
    return tf.constant(generator("embedding").uniform(-2.0, 2.0, [WORDS, UNITS]).astype("float32"))


def memory(tf):
    return tf.constant(generator("memory").uniform(-1.0, 1.0, [3, 5, UNITS]).astype("float32"))


def cell(tf, attention=None, units=UNITS, rows=1, **options):
    """An LSTM, with attention to the memory if that is asked for."""
    made = tf.nn.rnn_cell.LSTMCell(units)
    if attention is None:
        return made
    seq2seq = contrib(tf).seq2seq
    mechanism = attention(tf, seq2seq.tile_batch(memory(tf), rows) if rows > 1 else memory(tf))
    return seq2seq.AttentionWrapper(made, mechanism, **options)


def luong(**options):
    return lambda tf, memory: contrib(tf).seq2seq.LuongAttention(UNITS, memory, **options)


def bahdanau(**options):
    return lambda tf, memory: contrib(tf).seq2seq.BahdanauAttention(4, memory, **options)


def several(tf, memory):
    return [luong()(tf, memory), bahdanau()(tf, memory)]


def decoded(helper, layer=True, decode=None, **options):
    """Return the outputs of a BasicDecoder."""

    def build(tf, x):
        seq2seq = contrib(tf).seq2seq
        made = cell(tf, **options)
        output_layer = tf.layers.Dense(WORDS) if layer else None
        decoder = seq2seq.BasicDecoder(made, helper(tf, x), made.zero_state(3, tf.float32), output_layer)
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, **(decode or {}))
        if options.get("alignment_history"):
            state = state._replace(alignment_history=state.alignment_history.stack())
        return outputs, state, lengths

    return build


def training(tf, x):
    return contrib(tf).seq2seq.TrainingHelper(x, [4, 2, 3])


def time_major(tf, x):
    return contrib(tf).seq2seq.TrainingHelper(tf.transpose(x, [1, 0, 2]), [1, 2, 3], time_major=True)


def greedy(tf, x):
    return contrib(tf).seq2seq.GreedyEmbeddingHelper(embedding(tf), [1, 2, 0], 3)


def sampling(tf, x):
    return contrib(tf).seq2seq.SampleEmbeddingHelper(embedding(tf), [1, 2, 0], 3, 0.7, seed=5)


def scheduled(tf, x):
    return contrib(tf).seq2seq.ScheduledEmbeddingTrainingHelper(
        x, [4, 2, 3], embedding(tf), 0.5, seed=2, scheduling_seed=3
    )


def scheduled_output(tf, x):
    return contrib(tf).seq2seq.ScheduledOutputTrainingHelper(x, [4, 2, 3], 1.0)


def inference(tf, x):
    return contrib(tf).seq2seq.InferenceHelper(
        lambda outputs: outputs * 2.0, [UNITS], tf.float32, x[:, 0], lambda ids: tf.reduce_sum(ids, 1) > 0.8
    )


def custom(tf, x):
    return contrib(tf).seq2seq.CustomHelper(
        lambda: (tf.constant([False, False, True]), x[:, 0]),
        lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
        lambda time, outputs, state, sample_ids: (time >= [1, 2, 0], outputs, state),
    )


def beams(attention=None, layer=True, steps=4, **options):
    """The three best candidates."""

    def build(tf, x):
        seq2seq = contrib(tf).seq2seq
        made = cell(tf, attention, UNITS if layer else WORDS, rows=3)
        decoder = seq2seq.BeamSearchDecoder(
            made, embedding(tf), [1, 2, 0], 3, made.zero_state(9, tf.float32), 3,
            tf.layers.Dense(WORDS) if layer else None, **options
        )
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
        return outputs, state.log_probs, state.lengths, tf.cast(state.finished, tf.int32), lengths

    return build


def tree(tf):
    """Random ways back; the symbol 2 is the end."""
    rng = generator("tree")
    ids, parents = (rng.randint(0, high, [6, 2, 4]).astype("int32") for high in (9, 4))
    tree = contrib(tf).seq2seq.gather_tree
    return [tree(ids, parents, lengths, 2) for lengths in ([6, 6], [6, 3], [1, 0])]


def tiled(tf, x):
    return contrib(tf).seq2seq.tile_batch((x, tf.reduce_sum(x, [1, 2])), 3)


def raw(emitting=False, counting=False):
    """raw_rnn over sequences of several lengths; it may put out something else, and count."""

    def build(tf, x):
        lengths = tf.constant([4, 1, 3])
        rows = tf.TensorArray(tf.float32, size=4).unstack(tf.transpose(x, [1, 0, 2]))
        made = tf.nn.rnn_cell.LSTMCell(UNITS)

        def loop_fn(time, output, state, loop):
            first = output is None
            state = made.zero_state(3, tf.float32) if first else state
            finished = time >= lengths
            given = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 3]), lambda: rows.read(time))
            given.set_shape([3, 3])
            if emitting:
                output = tf.zeros([2]) if first else tf.stack([output[:, 0], state.c[:, 1]], 1)
            if counting:
                loop = tf.constant(0.0) if first else loop + tf.reduce_sum(output)
            return finished, given, state, output, loop

        outputs, state, loop = tf.nn.raw_rnn(made, loop_fn)
        return [outputs.stack(), state] + ([loop] if counting else [])

    return build


def dropping(decode):
    """Dropout in a loop that ends by itself, with weights and dropped outputs by the seed of the graph."""

    def build(tf):
        tf.set_random_seed(5)
        x = tf.constant(generator("dropping").uniform(-1.0, 1.0, [3, 4, UNITS]).astype("float32"))
        made = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(4), 0.7, 0.6)
        return flat([decode(tf, x, made), tf.random_uniform([2])])

    return build


def dropped_decoder(tf, x, made):
    seq2seq = contrib(tf).seq2seq
    helper = seq2seq.TrainingHelper(x, [4, 2, 3])
    return seq2seq.dynamic_decode(seq2seq.BasicDecoder(made, helper, made.zero_state(3, tf.float32)))[0]


def dropped_raw(tf, x, made):
    def loop_fn(time, output, state, loop):
        state = made.zero_state(3, tf.float32) if output is None else state
        return time >= tf.constant([4, 1, 3]), x[:, 0], state, output, loop

    # Iterations at the same time would draw in any order in TensorFlow.
    outputs, state, _ = tf.nn.raw_rnn(made, loop_fn, parallel_iterations=1)
    return outputs.stack(), state


def case(label, build):
    return network(label, build, sizes=(3, 4, UNITS))[:2]


CASES = [
    case("TrainingHelper", decoded(training)),
    case("TrainingHelper, no layer", decoded(training, layer=False)),
    case("TrainingHelper, imputed", decoded(training, decode={"impute_finished": True})),
    case("TrainingHelper, at most 2", decoded(training, decode={"maximum_iterations": 2})),
    case("TrainingHelper, time major", decoded(time_major, decode={"output_time_major": True})),
    case("GreedyEmbeddingHelper", decoded(greedy, decode={"maximum_iterations": 4})),
    case("GreedyEmbeddingHelper, imputed",
         decoded(greedy, decode={"maximum_iterations": 5, "impute_finished": True})),
    case("SampleEmbeddingHelper", decoded(sampling, decode={"maximum_iterations": 4})),
    case("ScheduledEmbeddingTrainingHelper", decoded(scheduled, decode={"scope": "mine"})),
    case("ScheduledOutputTrainingHelper", decoded(scheduled_output, layer=False)),
    case("InferenceHelper", decoded(inference, layer=False, decode={"maximum_iterations": 3})),
    case("CustomHelper", decoded(custom, layer=False)),
    [case("attention %d" % number, decoded(training, attention=attention, **options))
     for number, (attention, options) in enumerate((
         (luong(), {}),
         (luong(scale=True), {"attention_layer_size": 4}),
         (luong(memory_sequence_length=[5, 2, 3]), {"output_attention": False}),
         (bahdanau(), {"attention_layer_size": 2, "alignment_history": True}),
         (bahdanau(normalize=True), {}),
         (bahdanau(memory_sequence_length=[5, 2, 3]), {"cell_input_fn": lambda inputs, attention: inputs}),
         (several, {"attention_layer_size": [4, 2]}),
     ))],
    case("attention, greedy", decoded(greedy, attention=bahdanau(), decode={"maximum_iterations": 3})),
    case("beam search", beams()),
    case("beam search, no layer", beams(layer=False)),
    case("beam search, many steps", beams(steps=8)),
    case("beam search, length penalty", beams(length_penalty_weight=0.7)),
    case("beam search, attention", beams(luong())),
    case("beam search, coverage penalty", beams(bahdanau(), coverage_penalty_weight=0.4)),
    runs("gather_tree", tree, times=1),
    case("tile_batch", tiled),
    runs("hardmax", lambda tf: contrib(tf).seq2seq.hardmax(
        tf.constant(np.cos(np.arange(12.0)).reshape(3, 4).astype("float32"))), times=1),
    case("raw_rnn", raw()),
    case("raw_rnn, other outputs", raw(emitting=True)),
    case("raw_rnn, counting", raw(counting=True)),
    runs("dropout in a decoder that ends by itself", dropping(dropped_decoder), tolerance=4.0),
    runs("dropout in raw_rnn", dropping(dropped_raw), tolerance=4.0),

    error("dynamic_decode of no decoder", lambda tf: contrib(tf).seq2seq.dynamic_decode(3)),
    error("BasicDecoder without a helper",
          lambda tf: contrib(tf).seq2seq.BasicDecoder(cell(tf), 3, cell(tf).zero_state(3, tf.float32))),
    error("TrainingHelper with a matrix of lengths",
          lambda tf: contrib(tf).seq2seq.TrainingHelper(tf.zeros([2, 3, 4]), [[1, 2]])),
    error("GreedyEmbeddingHelper with one start",
          lambda tf: contrib(tf).seq2seq.GreedyEmbeddingHelper(embedding(tf), 1, 3)),
    error("maximum_iterations is a vector", lambda tf: flat(
        decoded(training, decode={"maximum_iterations": [1]})(tf, tf.zeros([3, 4, UNITS])))),
    error("AttentionWrapper of no mechanism",
          lambda tf: contrib(tf).seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), 3)),
    error("AttentionWrapper with a plain state", lambda tf: cell(tf, luong())(
        tf.zeros([3, 3]), tf.zeros([3, 3]))),
    error("memory of unknown features", lambda tf: contrib(tf).seq2seq.LuongAttention(
        3, tf.placeholder(tf.float32, [2, 5, None]))),
    error("queries of another size than keys", lambda tf: contrib(tf).seq2seq.LuongAttention(
        4, tf.zeros([2, 5, 3]))(tf.zeros([2, 3]), None)),
    error("raw_rnn without a function", lambda tf: tf.nn.raw_rnn(cell(tf), None)),
]
