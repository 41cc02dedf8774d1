"""Datasets of windows and of random numbers, with the numbers of operations."""
import numpy as np
import tensorflow as tf

D, E = tf.data.Dataset, tf.data.experimental


def show(name, make, count=6):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    element = make().make_one_shot_iterator().get_next()
    made = []
    with tf.Session() as session:
        try:
            for _ in range(count):
                made.append(session.run(element))
        except tf.errors.OutOfRangeError:
            made.append("end")
    shown = [x if isinstance(x, (tuple, str)) else np.asarray(x).tolist() for x in made]
    print(name, tf.get_default_graph()._last_id, shown)


show("random", lambda: E.RandomDataset(5))
show("random graph", lambda: E.RandomDataset())
show("random take", lambda: E.RandomDataset(seed=2).take(3).batch(2))
show("sample", lambda: E.sample_from_datasets([D.range(5), D.range(10, 20)], [0.3, 0.7], seed=4))
show("sample none", lambda: E.sample_from_datasets([D.range(5), D.range(10, 20)]))
show("choose", lambda: E.choose_from_datasets([D.range(5), D.range(10, 20)], D.range(2).repeat(3)))
show("window", lambda: D.range(7).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3)))
show("window2", lambda: D.range(7).window(3, 2, 2).flat_map(lambda w: w.batch(3)))
show("window dict", lambda: D.range(7).map(lambda x: {"a": x, "b": 2 * x}).window(2).flat_map(lambda w: D.zip((w["a"].batch(2), w["b"].batch(2)))))
show("window zip", lambda: D.zip((D.range(5), D.range(5, 10))).window(2, 1).flat_map(lambda a, b: D.zip((a.batch(2), b.batch(2)))))
show("window skip", lambda: D.range(6).window(3).flat_map(lambda w: w.skip(1)))
show("window reduce", lambda: D.range(6).window(3).flat_map(lambda w: D.from_tensors(w.reduce(np.int64(0), lambda a, b: a + b))))
show("window map single", lambda: D.range(6).window(3).map(lambda w: E.get_single_element(w.batch(3))))
show("window interleave", lambda: D.range(9).window(3).interleave(lambda w: w.batch(2), 2, 1))
show("unbatch apply", lambda: D.range(6).batch(3).apply(E.unbatch()))
show("shuffle once", lambda: D.range(4).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(2), 9)
show("shuffle graph", lambda: D.range(4).shuffle(4, reshuffle_each_iteration=False).repeat(2), 9)
show("shuffle graph2", lambda: D.range(4).shuffle(4).repeat(2), 9)
show("group", lambda: D.range(8).apply(E.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)))
