"""`tf.contrib`: optimizers, losses of sequences, layers; and what is plain Python in TensorFlow too."""

from tests.golden.draws import contrib, ints, real
from tests.golden.runner import answer, error, trains, value


def dense(name, *arguments, with_step=False, **options):
    """Steps of an optimizer down a bowl."""

    def build(tf):
        w = tf.Variable([[1.0, -2.0], [3.0, 0.5]], name="w")
        b = tf.Variable([0.3, -0.7], name="b")
        loss = tf.reduce_sum(tf.square(tf.matmul(w, [[1.0], [2.0]]) + tf.reshape(b, [2, 1])))
        made = getattr(contrib(tf).opt, name)(*arguments, **options)
        step = tf.Variable(0, trainable=False, dtype=tf.int64) if with_step else None
        return made.minimize(loss, step), [w, b]

    return trains("opt.%s %s%s" % (name, arguments, sorted(options)), build, tolerance=5.0)


def sparse(name, *arguments, **options):
    """Steps whose gradients touch some rows, one of them twice."""

    def build(tf):
        w = tf.Variable([[1.0, -2.0], [3.0, 0.5], [0.2, 0.1], [4.0, 4.0]], name="w")
        loss = tf.reduce_sum(tf.square(tf.gather(w, [0, 2, 0]) * [[1.0], [2.0], [3.0]]))
        return getattr(contrib(tf).opt, name)(*arguments, **options).minimize(loss), [w]

    return trains("opt.%s, sparse" % name, build, tolerance=5.0)


def decayed(tf):
    """AddSign whose sign term fades away."""
    w = tf.Variable([1.0, -2.0])
    step = tf.Variable(0, trainable=False)
    opt = contrib(tf).opt.AddSignOptimizer(
        0.05, sign_decay_fn=lambda at: 1.0 - tf.minimum(tf.cast(at, tf.float32), 6.0) / 6.0
    )
    return opt.minimize(tf.reduce_sum(w * w), step), [w]


def averaged(tf):
    w = tf.Variable([1.0, -2.0], name="w")
    opt = contrib(tf).opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), average_decay=0.5)
    step = opt.minimize(tf.reduce_sum(w * w))
    return step, [w, opt._ema.average(w) if hasattr(opt, "_ema") else opt._average.average(w)]


def clipped(tf):
    w = tf.Variable([[1.0, -2.0], [3.0, 0.5]], name="w")
    opt = contrib(tf).opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.1), {w: [1]}, 2.0)
    return opt.minimize(tf.reduce_sum(tf.square(w - 5.0))), [w]


def optimized(label, **options):
    """optimize_loss, with its learning rate as a number."""

    def build(tf):
        w = tf.Variable([1.0, -2.0], name="w")
        step = tf.train.get_or_create_global_step()
        chosen = {"optimizer": "SGD", "learning_rate": 0.1, "summaries": []}
        chosen.update({key: make(tf, w) if callable(make) else make for key, make in options.items()})
        loss = contrib(tf).layers.optimize_loss(tf.reduce_sum(w * w), step, **chosen)
        return loss, [w, step]

    return trains("optimize_loss, %s" % label, build)


def sequence(options):
    return lambda tf, logits, targets, weights: contrib(tf).seq2seq.sequence_loss(
        logits, targets, weights, **options
    )


def steps(tf, logits, targets, weights):
    """The tensors of a batch as lists, one for each step."""
    return [tf.unstack(each, axis=1) for each in (logits, targets, weights)]


def vocabulary(tf):
    documents = ["It's a CamelCase NASA-like word.", "a word in NYC, a b", "été naïve 12 x_y"]
    preprocessing = contrib(tf).learn.preprocessing
    rows = []
    for options in ({}, {"min_frequency": 1}):
        processor = preprocessing.VocabularyProcessor(6, **options)
        rows += [row.tolist() for row in processor.fit_transform(documents)]
        rows += [row.tolist() for row in processor.transform(["word unknown a"])]
        rows += list(processor.reverse(processor.transform(documents))) + [len(processor.vocabulary_)]
    return rows + [row.tolist() for row in preprocessing.ByteProcessor(8).transform(["été", "a"])]


def hyperparameters(tf):
    hparams = contrib(tf).training.HParams(rate=0.1, sizes=[1, 2], name="a", on=True)
    hparams.parse("rate=5,sizes=[3,4,5],on=false").add_hparam("more", 2)
    hparams.set_hparam("more", 7)
    hparams.del_hparam("name")
    return [
        sorted(hparams.values().items()),
        "rate" in hparams,
        "name" in hparams,
        hparams.get("none", 3),
        hparams.to_json(sort_keys=True),
        str(hparams),
        repr(hparams),
    ]


def cluster(tf):
    spec = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {0: "b:1", 2: "c:1"}})
    return [
        sorted(spec.as_dict().items()),
        sorted(spec.jobs),
        spec.num_tasks("worker"),
        spec.task_indices("worker"),
        spec.task_address("worker", 2),
        spec.job_tasks("worker"),
        tf.train.ClusterSpec(spec) == spec,
        bool(tf.train.ClusterSpec({})),
    ]


def jsonable(build):
    """Tuples as lists, as JSON has them."""

    def plain(item):
        if isinstance(item, (list, tuple)):
            return [plain(each) for each in item]
        return {str(key): plain(each) for key, each in item.items()} if isinstance(item, dict) else item

    return lambda tf: plain(build(tf))


LOGITS, TARGETS, WEIGHTS = real(2, 3, 4), ints(2, 3, low=0, high=3), real(2, 3, low=0.0, high=1.0)
AVERAGES = [
    {},
    {"average_across_batch": False},
    {"average_across_timesteps": False},
    {"average_across_timesteps": False, "average_across_batch": False},
    {
        "average_across_timesteps": False,
        "average_across_batch": False,
        "sum_over_timesteps": True,
        "sum_over_batch": True,
    },
    {"average_across_timesteps": False, "average_across_batch": False, "sum_over_batch": True},
    {"average_across_timesteps": False, "average_across_batch": False, "sum_over_timesteps": True},
]

CASES = [
    dense("AdaMaxOptimizer", 0.1),
    dense("AdaMaxOptimizer", 0.1, beta1=0.5, epsilon=0.1),
    dense("NadamOptimizer", 0.1),
    dense("LazyAdamOptimizer", 0.1),
    dense("AddSignOptimizer", 0.05),
    dense("AddSignOptimizer", 0.05, alpha=2.0, beta=0.5),
    dense("PowerSignOptimizer", 0.05),
    dense("PowerSignOptimizer", 0.05, base=2.0, beta=0.5),
    dense("LARSOptimizer", 1.0),
    dense("LARSOptimizer", 0.1, momentum=0.5, weight_decay=0.01, eeta=0.1, epsilon=0.1, use_nesterov=True),
    dense("LARSOptimizer", 0.01, skip_list=["b"]),
    [
        sparse(name, *arguments)
        for name, arguments in (
            ("AdaMaxOptimizer", (0.1,)),
            ("NadamOptimizer", (0.1,)),
            ("LazyAdamOptimizer", (0.1,)),
            ("AddSignOptimizer", (0.05,)),
            ("PowerSignOptimizer", (0.05,)),
        )
    ],
    trains("AddSign of a decaying sign", decayed),
    trains("MovingAverageOptimizer", averaged),
    trains("VariableClippingOptimizer", clipped),
    optimized("plainly"),
    optimized("by a name", optimizer="Adam"),
    optimized("clipped", optimizer="Momentum", clip_gradients=0.5),
    optimized("multiplied", gradient_multipliers=lambda tf, w: {w: 0.5}),
    optimized("multiplied by name", gradient_multipliers={"w:0": 2.0}, increment_global_step=False),
    optimized("by a class", optimizer=lambda tf, w: tf.train.AdagradOptimizer),
    optimized("by an optimizer", optimizer=lambda tf, w: tf.train.RMSPropOptimizer(0.01), learning_rate=None),
    [
        value(
            "sequence_loss %s" % sorted(key for key, asked in options.items() if asked) + " %d" % number,
            sequence(options),
            LOGITS,
            TARGETS,
            WEIGHTS,
        )
        for number, options in enumerate(AVERAGES)
    ],
    value(
        "sequence_loss of a function",
        lambda tf, logits, targets, weights: contrib(tf).seq2seq.sequence_loss(
            logits,
            targets,
            weights,
            softmax_loss_function=lambda labels, logits: tf.reduce_sum(
                logits * tf.cast(labels[:, None], logits.dtype), -1
            ),
        ),
        LOGITS,
        TARGETS,
        WEIGHTS,
    ),
    value(
        "legacy sequence_loss",
        lambda tf, *args: contrib(tf).legacy_seq2seq.sequence_loss(*steps(tf, *args)),
        LOGITS,
        TARGETS,
        WEIGHTS,
    ),
    value(
        "legacy sequence_loss_by_example",
        lambda tf, *args: [
            contrib(tf).legacy_seq2seq.sequence_loss_by_example(
                *steps(tf, *args), average_across_timesteps=across
            )
            for across in (True, False)
        ],
        LOGITS,
        TARGETS,
        WEIGHTS,
    ),
    answer("vocabulary", vocabulary),
    answer("hyperparameters", jsonable(hyperparameters)),
    answer("cluster", jsonable(cluster)),
    answer(
        "analyze_vars",
        jsonable(
            lambda tf: contrib(tf).slim.model_analyzer.analyze_vars(
                [tf.Variable(tf.zeros([3, 4])), tf.Variable(tf.zeros([2], tf.float64))]
            )
        ),
    ),
    answer(
        "replica_device_setter",
        lambda tf: [
            tf.train.replica_device_setter() is None,
            tf.train.replica_device_setter(1) is None,
            tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None,
            tf.train.replica_device_setter(cluster={"ps": ["b:1"], "worker": ["a:1"]}) is None,
        ],
    ),
    error(
        "sequence_loss of a rank",
        lambda tf: contrib(tf).seq2seq.sequence_loss(
            tf.zeros([2, 3]), tf.zeros([2, 3], tf.int32), tf.zeros([2, 3])
        ),
    ),
    error(
        "sequence_loss sum and average",
        lambda tf: contrib(tf).seq2seq.sequence_loss(
            tf.zeros([2, 3, 4]), tf.zeros([2, 3], tf.int32), tf.zeros([2, 3]), sum_over_batch=True
        ),
    ),
    error(
        "sequence_loss of lengths",
        lambda tf: contrib(tf).legacy_seq2seq.sequence_loss([tf.zeros([1, 2])], [], []),
    ),
    error(
        "optimize_loss of no such optimizer",
        lambda tf: contrib(tf).layers.optimize_loss(tf.constant(1.0), None, 0.1, "Sgd"),
    ),
    error(
        "optimize_loss without a rate",
        lambda tf: contrib(tf).layers.optimize_loss(tf.constant(1.0), None, None, "SGD"),
    ),
    error("LARS of a negative momentum", lambda tf: contrib(tf).opt.LARSOptimizer(0.1, momentum=-1.0)),
    [
        error(
            "hparams %s" % text, lambda tf, text=text: contrib(tf).training.HParams(a=1, b=[2.0]).parse(text)
        )
        for text in ("c=1", "a", "a=x", "a=1,a=2", "a=[1]", "b=1", "b[0]=[1]")
    ],
    error("hparams of an empty list", lambda tf: contrib(tf).training.HParams(a=[])),
    error("cluster of no dict", lambda tf: tf.train.ClusterSpec(["a:1"])),
    error("cluster of a string", lambda tf: tf.train.ClusterSpec({"a": "b:1"})),
    error("cluster without the job", lambda tf: tf.train.ClusterSpec({"a": ["b:1"]}).num_tasks("c")),
    error("cluster without the task", lambda tf: tf.train.ClusterSpec({"a": ["b:1"]}).task_address("a", 1)),
    error("server of which job", lambda tf: tf.train.Server({"a": ["b:1"], "c": ["d:1"]})),
]
