"""`Saver`: which checkpoints there are after a while, what the state file says, and what is refused."""

import os
import time

from tests.golden.calls import plain, told
from tests.golden.runner import answer


def variables(tf):
    """A vector and a scalar, and a session in which they have values."""
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return v, w, sess


def present(tf, folder):
    """The names of the checkpoints in a folder."""
    names = {name.partition(".")[0] for name in os.listdir(folder)} - {"checkpoint"}
    return sorted(name for name in names if tf.train.checkpoint_exists(os.path.join(folder, name)))


def last(saver):
    return [os.path.basename(path) for path in saver.last_checkpoints]


def state(folder, name="checkpoint"):
    """Return what the state file says, without the folder's name."""
    with open(os.path.join(folder, name)) as file:
        return file.read().replace(folder, "folder").splitlines()


def kept(steps, **options):
    def script(tf, calls, folder):
        _, _, sess = variables(tf)
        saver = tf.train.Saver(**options)
        for step in steps:
            saver.save(sess, os.path.join(folder, "m"), global_step=step)
            calls.append([present(tf, folder), last(saver)])
        calls.append(state(folder))

    return script


def kept_by_the_hour(tf, calls, folder):
    _, _, sess = variables(tf)
    clock, now = time.time, [1e9]
    time.time = lambda: now[0]
    try:
        saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
        for step in range(12):
            now[0] += 1000
            saver.save(sess, os.path.join(folder, "m"), global_step=step)
    finally:
        time.time = clock
    calls.append([present(tf, folder), last(saver)])


def resumed(tf, calls, folder):
    _, _, sess = variables(tf)
    path = os.path.join(folder, "m")
    first = tf.train.Saver()
    paths = [first.save(sess, path, global_step=step) for step in (1, 2, 3)]
    second = tf.train.Saver(max_to_keep=2)
    second.recover_last_checkpoints([*paths[1:], path + "-9"])
    calls.append(last(second))
    second.save(sess, path, global_step=4)
    calls.append([present(tf, folder), last(second)])
    second.set_last_checkpoints(["x"])
    calls.append(last(second))
    second.set_last_checkpoints_with_time([("y", 1.0), ("z", 2.0)])
    calls.append(last(second))


def named(tf, calls, folder):
    _, _, sess = variables(tf)
    saver = tf.train.Saver(save_relative_paths=True, pad_step_number=True)
    path = os.path.join(folder, "m")
    saver.save(sess, path, global_step=7, latest_filename="latest", write_meta_graph=False)
    calls.append(state(folder, "latest"))
    calls.append(tf.train.latest_checkpoint(folder))
    calls.append(os.path.basename(tf.train.latest_checkpoint(folder, "latest")))
    calls.append(os.path.basename(saver.save(sess, path, write_state=False)))
    calls.append(last(saver))
    step = tf.train.get_or_create_global_step()
    sess.run(step.initializer)
    sess.run(tf.assign_add(step, 5))
    calls.append(os.path.basename(tf.train.Saver().save(sess, path, global_step=step)))
    calls.append(os.path.basename(saver.save(sess, os.path.join(folder, "new", "m"))))


def chosen(tf, calls, folder):
    v, w, sess = variables(tf)
    path = tf.train.Saver({"a": v, "b": w}).save(sess, os.path.join(folder, "m"))
    sess.run([tf.assign(v, [0.0, 0.0]), tf.assign(w, 0)])
    tf.train.Saver({"a": v}).restore(sess, path)
    calls.append(plain(sess.run([v, w])))
    tf.train.Saver({"b": w}).restore(sess, path)
    calls.append(plain(sess.run([v, w])))
    with tf.Graph().as_default(), tf.Session() as other:
        row = tf.Variable([[0.0, 0.0]], name="a")
        tf.train.Saver(reshape=True).restore(other, path)
        calls.append(plain(other.run(row)))


def refused(tf, calls, folder):
    v, w, sess = variables(tf)
    path = os.path.join(folder, "m")
    saver = tf.train.Saver({"a": v})
    saver.save(sess, path)
    deferred = tf.train.Saver(defer_build=True)
    attempts = [
        lambda: tf.train.Saver([v, v]),
        lambda: tf.train.Saver({"a": v, "b": v}),
        lambda: tf.train.Saver({1: v}),
        lambda: tf.train.Saver([v], defer_build=True),
        lambda: saver.save(sess, path, latest_filename="a/b"),
        lambda: saver.save(sess, os.path.join(folder, "checkpoint")),
        lambda: saver.save(3, path),
        lambda: saver.restore(sess, os.path.join(folder, "none")),
        lambda: saver.restore(sess, None),
        lambda: deferred.save(sess, path),
        lambda: tf.train.Saver({"none": w}).restore(sess, path),
        lambda: tf.train.Saver({"a": tf.Variable([1.0, 2.0, 3.0])}).restore(sess, path),
        lambda: tf.train.Saver({"a": tf.Variable([1, 2])}).restore(sess, path),
        lambda: tf.train.Saver([]),
    ]
    for attempt in attempts:
        try:
            attempt()
            calls.append("done")
        except Exception as error:
            calls.append(type(error).__name__)


CASES = [
    [
        answer("kept: %s, %s" % (steps, options), told(kept(steps, **options)))
        for steps, options in (
            ((1, 2, 3, 4), {"max_to_keep": 2}),
            ((1, 2, 1, 3), {"max_to_keep": 2}),
            ((1, 2), {"max_to_keep": None}),
            ((1, 2), {"max_to_keep": 0}),
            ((1, 2), {"max_to_keep": 1}),
            ((1, 2, 3, 4, 5, 6), {}),
        )
    ],
    answer("one kept every hour", told(kept_by_the_hour)),
    answer("a saver that goes on", told(resumed)),
    answer("file names", told(named)),
    answer("chosen variables", told(chosen)),
    answer("refused", told(refused)),
]
