"""Coordinators and their threads, supervisors, and how sessions are prepared."""

import threading

from tests.golden.calls import Log, model, plain, raised, told
from tests.golden.runner import answer, error


def scaffold(tf, calls, folder):
    _, w, step, _ = model(tf)
    local = tf.Variable(4.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")

    def init_fn(scaffold, session):
        calls.append([isinstance(scaffold, tf.train.Scaffold), plain(session.run(w))])
        w.load(6.0, session)

    made = tf.train.Scaffold(init_fn=init_fn)
    calls.append([made.init_op, made.ready_op, made.local_init_op, made.summary_op, made.saver])
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(made)) as sess:
        calls.append(plain(sess.run([w, local, step])))
    keys = "INIT_OP", "READY_OP", "READY_FOR_LOCAL_INIT_OP", "LOCAL_INIT_OP", "SUMMARY_OP", "SAVERS"
    calls.append([len(tf.get_collection(getattr(tf.GraphKeys, key))) for key in keys])
    other = tf.train.Scaffold(copy_from_scaffold=made, local_init_op=tf.no_op())
    calls.append([other.saver is made.saver, other.local_init_op is made.local_init_op])


def half_initialised(**operations):
    def script(tf, calls, folder):
        _, w, step, _ = model(tf)
        made = {name: make(tf, w, step) for name, make in operations.items()}
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(**made)))

    return script


def supervised(tf, calls, folder):
    _, _, _, up = model(tf)
    sv = tf.train.Supervisor(saver=None, logdir=None)
    with sv.managed_session() as sess:
        while not sv.should_stop():
            if plain(sess.run(up)) >= 4:
                sv.request_stop()
        calls.append([sv.save_path, sv.is_chief, sv.summary_op, sv.saver, sv.global_step is not None])
    calls.append([sv.should_stop(), tf.get_default_graph().finalized, sv.coord.joined])


def supervised_ends(make):
    def script(tf, calls, folder):
        model(tf)
        sv = tf.train.Supervisor()
        with sv.managed_session():
            raise make(tf)
        calls.append("after")

    return script


def basic_loop(tf, calls, folder):
    _, _, _, up = model(tf)
    sv = tf.train.Supervisor()
    runs = []

    def train(sess, a, b=None):
        runs.append(1)
        calls.append([a, b, plain(sess.run(up))])
        if len(runs) == 2:
            raise raised(tf.errors.AbortedError, "gone")
        if len(runs) == 4:
            sv.request_stop()

    tf.train.basic_train_loop(sv, train, args=(7,), kwargs={"b": 8})


def coordinated(tf, calls, folder):
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise ValueError("first")
    with coord.stop_on_exception():
        raise KeyError("second")
    calls.append([coord.should_stop(), coord.joined, coord.wait_for_stop()])
    for ask in (coord.raise_requested_exception, lambda: coord.join([])):
        try:
            ask()
        except ValueError as error:
            calls.append(str(error))
    calls.append(coord.joined)
    coord.clear_stop()
    calls.append([coord.should_stop(), coord.joined])
    with coord.stop_on_exception():
        raise raised(tf.errors.OutOfRangeError, "end")
    coord.join([])
    calls.append([coord.should_stop(), coord.joined])
    try:
        raise KeyError("late")
    except KeyError as error:
        coord.request_stop(error)


def straggler(tf, calls, folder):
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="straggler", daemon=True)
    thread.start()
    coord.register_thread(thread)
    coord.request_stop()
    with Log(calls, "Coordinator stopped"):
        try:
            coord.join(stop_grace_period_secs=0.0)
        except RuntimeError as error:
            calls.append(str(error).splitlines()[0])
        coord.join([thread], stop_grace_period_secs=0.0, ignore_live_threads=True)
    release.set()


def looping(tf, calls, folder):
    coord = tf.train.Coordinator()

    class Looper(tf.train.LooperThread):
        def start_loop(self):
            calls.append("start")

        def run_loop(self):
            calls.append("run")
            if len(calls) == 4:
                coord.request_stop()

        def stop_loop(self):
            calls.append("stop")

    Looper(coord, None).start()
    coord.join()

    def fail(a, b):
        raise ValueError([a, b])

    coord.clear_stop()
    tf.train.LooperThread.loop(coord, 0.0, fail, (1,), {"b": 2})
    coord.join()


def prepared(tf, calls, folder):
    _, w, step, _ = model(tf)
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    calls.append(manager.recover_session("")[1])
    attempts = [
        {},
        {"init_op": w.initializer},
        {"init_op": tf.global_variables_initializer(), "init_feed_dict": {"x:0": 3.0}},
        {"init_fn": lambda session: session.run(tf.get_collection("init")[0])},
        {"saver": tf.train.Saver(), "checkpoint_dir": folder, "checkpoint_filename_with_path": folder},
    ]
    tf.add_to_collection("init", tf.global_variables_initializer())
    for attempt in attempts:
        try:
            calls.append(plain(manager.prepare_session("", **attempt).run([w, step])))
        except Exception as error:
            calls.append(type(error).__name__)


PREPARED = [
    answer("scaffold", told(scaffold)),
    answer("initialised in part", told(half_initialised(init_op=lambda tf, w, step: step.initializer))),
    answer(
        "checked in part",
        told(
            half_initialised(
                init_op=lambda tf, w, step: step.initializer,
                ready_for_local_init_op=lambda tf, w, step: tf.report_uninitialized_variables([step]),
            )
        ),
    ),
    answer("session manager", told(prepared)),
]

THREADS = [
    answer("coordinator", told(coordinated)),
    answer("straggler", told(straggler)),
    answer("looper", told(looping)),
]

SUPERVISED = [
    answer("supervisor", told(supervised)),
    answer("basic_train_loop", told(basic_loop)),
] + [
    answer("supervised block ends with %s" % name, told(supervised_ends(make)))
    for name, make in (
        ("ValueError", lambda tf: ValueError("x")),
        ("KeyboardInterrupt", lambda tf: KeyboardInterrupt("x")),
        ("OutOfRangeError", lambda tf: raised(tf.errors.OutOfRangeError, "x")),
    )
]

# What each is given, and the class of error that it raises.
REFUSED = [
    error("%s: %s" % (name, list(given)), lambda tf, n=name, g=given: getattr(tf.train, n)(**g) and None)
    for name, given in (
        ("LooperThread", {"coord": 1, "timer_interval_secs": 1}),
        ("QueueRunner", {}),
        ("start_queue_runners", {}),
        ("start_queue_runners", {"sess": 1}),
        ("Scaffold", {"copy_from_scaffold": 1}),
    )
] + [
    error(
        "looper without target", lambda tf: tf.train.LooperThread(tf.train.Coordinator(), 1, args=(1,)).run()
    ),
    error("local init op is missing", lambda tf: tf.train.SessionManager(None, None, tf.no_op()) and None),
]

CASES = [PREPARED, THREADS, SUPERVISED, REFUSED]
