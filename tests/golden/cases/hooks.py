"""Monitored sessions and their hooks: who is called when, with what, and how it ends."""

from tests.golden.calls import Log, model, plain, raised, recorder, told
from tests.golden.runner import answer, error


def order(tf, calls, folder):
    x, w, _, _ = model(tf)
    total = x + w
    Recorder = recorder(tf, calls)
    hooks = [Recorder("a", {"x": x * w}), Recorder("b", feeds={x: 3.0}), Recorder("c", [x, (x, w)])]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        calls.append(plain(sess.run(total)))
        calls.append(plain(sess.run([total, {"x": x}])))
        calls.append([sess.should_stop(), tf.get_default_graph().finalized])
    calls.append([sess.should_stop(), sess.graph is None, tf.get_default_graph().finalized])


def feeds(of_caller, of_hooks):
    def script(tf, calls, folder):
        x, w, _, _ = model(tf)
        made = [recorder(tf, calls)(str(i), feeds={(x, w)[key]: 3.0}) for i, key in enumerate(of_hooks)]
        total = x + w
        with tf.train.MonitoredSession(hooks=made) as sess:
            calls.append(plain(sess.run(total, feed_dict={(x, w)[key]: 5.0 for key in of_caller})))

    return script


def ends(make):
    def script(tf, calls, folder):
        model(tf)
        with tf.train.MonitoredSession(hooks=[recorder(tf, calls)("a")]):
            raise make(tf)
        calls.append("after")

    return script


def stops(**interval):
    def script(tf, calls, folder):
        _, _, _, up = model(tf)
        hooks = [tf.train.StopAtStepHook(**interval), recorder(tf, calls)("a")]
        with tf.train.MonitoredSession(hooks=hooks) as sess:
            while not sess.should_stop():
                calls.append(plain(sess.run(up)))
            sess.run(up)

    return script


def closed_twice(tf, calls, folder):
    model(tf)
    sess = tf.train.MonitoredSession()
    sess.close()
    calls.append([sess.should_stop(), sess.graph is None])
    sess.close()


def steps(tf, calls, folder):
    x, _, step, up = model(tf)

    def step_fn(step_context):
        step_context.session.run(up)
        return step_context.run_with_hooks(step)

    def other_name(context):
        pass

    def stop(step_context):
        step_context.request_stop()

    with tf.train.MonitoredSession(hooks=[recorder(tf, calls)("a", x)]) as sess:
        calls.append(plain(sess.run_step_fn(step_fn)))
        try:
            sess.run_step_fn(other_name)
        except ValueError:
            calls.append("ValueError")
        sess.run_step_fn(stop)
        calls.append("not reached")
    calls.append("after")


def training(tf, calls, folder):
    _, _, _, up = model(tf)

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            calls.append("begin")

        def before_save(self, session, global_step_value):
            calls.append(["before_save", int(global_step_value)])

        def after_save(self, session, global_step_value):
            calls.append(["after_save", int(global_step_value)])

        def end(self, session, global_step_value):
            calls.append(["end", int(global_step_value)])

    for last_step in 7, 9:
        saving = tf.train.CheckpointSaverHook(
            folder, save_steps=4, saver=tf.train.Saver(), listeners=[Listener()]
        )
        hooks = [tf.train.StopAtStepHook(last_step=last_step), saving]
        session = tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, save_checkpoint_secs=None, save_summaries_steps=None,
            log_step_count_steps=None,
        )
        with session as sess:
            while not sess.should_stop():
                calls.append(plain(sess.run(up)))
        calls.append(tf.train.latest_checkpoint(folder)[len(folder) :])


def listener_stops(tf, calls, folder):
    _, _, _, up = model(tf)

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            return global_step_value >= 4

    hook = tf.train.CheckpointSaverHook(folder, save_steps=2, saver=tf.train.Saver(), listeners=[Listener()])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        while not sess.should_stop():
            calls.append(plain(sess.run(up)))


def losing(kind, recovers=True):
    """The session is lost before the third run."""

    def script(tf, calls, folder):
        _, _, _, up = model(tf)
        runs = []

        class Lose(tf.train.SessionRunHook):
            def after_create_session(self, session, coord):
                calls.append("created")

            def before_run(self, run_context):
                runs.append(1)
                if len(runs) == 3:
                    raise raised(getattr(tf.errors, kind), "gone")

        saving = tf.train.CheckpointSaverHook(folder, save_steps=1, saver=tf.train.Saver())
        hooks = [Lose(), saving]
        if recovers:
            sess = tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir=folder), hooks)
        else:
            sess = tf.train.SingularMonitoredSession(hooks, checkpoint_dir=folder)
        with sess:
            for _ in range(4):
                calls.append(plain(sess.run(up)))

    return script


def losing_in_a_step(tf, calls, folder):
    _, _, step, up = model(tf)
    tries = []

    def step_fn(step_context):
        tries.append(1)
        if len(tries) == 1:
            step_context.session.run(up)
            raise raised(tf.errors.UnavailableError, "gone")
        return step_context.run_with_hooks(step)

    with tf.train.MonitoredSession(hooks=[recorder(tf, calls)("a")]) as sess:
        calls.append(plain(sess.run_step_fn(step_fn)))


def nan(fails):
    def script(tf, calls, folder):
        x, w, _, _ = model(tf)
        with Log(calls, "Model"), tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x, fails)]) as sess:
            sess.run(w)
            calls.append(sess.should_stop())
            sess.run(w, feed_dict={x: float("nan")})
            calls.append(sess.should_stop())

    return script


def around(tf, calls, folder):
    x, _, step, up = model(tf)
    final = tf.train.FinalOpsHook({"step": step, "x": x}, {x: 5.0})
    calls.append(final.final_ops_values)
    with tf.train.MonitoredSession(hooks=[final, tf.train.FeedFnHook(lambda: {x: 7.0})]) as sess:
        calls.append(plain(sess.run([x, up])))
    calls.append(plain(final.final_ops_values))


def logged(*arguments, **options):
    def script(tf, calls, folder):
        x, w, step, up = model(tf)
        tensors = [{"x": x, "w": w, "b": step}, ["w", x], [step]][arguments[0]]
        hook = tf.train.LoggingTensorHook(tensors, **options)
        with Log(calls, "b =", "w =", "values"), tf.train.MonitoredSession(hooks=[hook]) as sess:
            for _ in range(5):
                sess.run(up)
        calls[:] = [call.split(" (")[0].split(", Tensor")[0].split(", <")[0] for call in calls]

    return script


def timed(tf, calls, folder):
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    for step in 0, 0, 1, 3, 3, 5, 6, 20, 21:
        due = timer.should_trigger_for_step(step)
        if due:
            timer.update_last_triggered_step(step)
        calls.append([due, timer.last_triggered_step()])
    timer.reset()
    calls.append([timer.should_trigger_for_step(21), timer.last_triggered_step()])


HOOKS = [
    answer("order of calls", told(order)),
    answer("feeds of hooks and caller", told(feeds([0], [1]))),
    answer("fed by hook and caller", told(feeds([0], [0]))),
    answer("fed by two hooks", told(feeds([], [0, 0]))),
    answer("session closed twice", told(closed_twice)),
    answer("step function", told(steps)),
    answer("checkpoints of a training", told(training)),
    answer("listener asks for a stop", told(listener_stops)),
    answer("loss is nan: fails", told(nan(True))),
    answer("loss is nan: stops", told(nan(False))),
    answer("feeds and final fetches", told(around)),
    answer("timer of steps", told(timed)),
]

ENDS = [
    answer("block ends with %s" % name, told(ends(make)))
    for name, make in (
        ("ValueError", lambda tf: ValueError("x")),
        ("StopIteration", lambda tf: StopIteration("x")),
        ("KeyboardInterrupt", lambda tf: KeyboardInterrupt("x")),
        ("OutOfRangeError", lambda tf: raised(tf.errors.OutOfRangeError, "x")),
        ("CancelledError", lambda tf: raised(tf.errors.CancelledError, "x")),
    )
]

STOPS = [
    answer("stop: %s" % interval, told(stops(**interval)))
    for interval in ({"num_steps": 3}, {"last_step": 2})
]

LOST = [
    answer("AbortedError: another session", told(losing("AbortedError"))),
    answer("UnavailableError: another session", told(losing("UnavailableError"))),
    answer("another error reaches the caller", told(losing("CancelledError"))),
    answer("SingularMonitoredSession does not recover", told(losing("AbortedError", recovers=False))),
    answer("lost in a step function", told(losing_in_a_step)),
]

LOGGED = [
    answer("log a dict", told(logged(0, every_n_iter=2))),
    answer("log a list", told(logged(1, every_n_iter=3))),
    answer("log at the end", told(logged(1, at_end=True))),
    answer(
        "log in both ways",
        told(logged(2, every_n_iter=3, at_end=True, formatter=lambda v: "values %d" % len(v))),
    ),
]

# What each is given, and the class of error that it raises.
REFUSED = [
    error("%s: %s" % (name, list(given)), lambda tf, n=name, g=given: getattr(tf.train, n)(**g) and None)
    for name, given in (
        ("LoggingTensorHook", {"tensors": ["w"]}),
        ("LoggingTensorHook", {"tensors": ["w"], "every_n_iter": 1, "every_n_secs": 1}),
        ("LoggingTensorHook", {"tensors": ["w"], "every_n_iter": 0}),
        ("StopAtStepHook", {}),
        ("StopAtStepHook", {"num_steps": 1, "last_step": 2}),
        ("SecondOrStepTimer", {}),
        ("SecondOrStepTimer", {"every_secs": 1, "every_steps": 1}),
        ("StepCounterHook", {"every_n_steps": 1, "every_n_secs": 1}),
        ("CheckpointSaverHook", {"checkpoint_dir": "x"}),
        ("CheckpointSaverHook", {"checkpoint_dir": "x", "saver": 1, "scaffold": 2}),
        ("SummarySaverHook", {"save_steps": 1}),
    )
] + [
    error("%s without a global step" % name, lambda tf, n=name: getattr(tf.train, n)(1).begin())
    for name in ("StopAtStepHook", "GlobalStepWaiterHook", "StepCounterHook")
]

CASES = [HOOKS, ENDS, STOPS, LOST, LOGGED, REFUSED]
