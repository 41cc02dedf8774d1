"""Summaries that a run writes into its event file, as programs for TPUs and agents have them."""

import glob

import numpy as np
import tensorflow as tf

summary = tf.contrib.summary
step = tf.train.get_or_create_global_step()
loss = tf.placeholder_with_default(2.5, [])
weights = tf.placeholder_with_default(np.arange(4, dtype=np.float32), [4])
pictures = tf.placeholder_with_default(np.full([2, 3, 3, 3], 0.5, np.float32), [2, 3, 3, 3])


def counted(make):
    """Prints how many operations a call makes."""
    before = tf.get_default_graph()._last_id
    made = make()
    print(tf.get_default_graph()._last_id - before)
    return made


print(counted(lambda: summary.scalar("nowhere", loss)).type)
writer = counted(lambda: summary.create_file_writer("log", flush_millis=1000))
with writer.as_default():
    counted(lambda: summary.scalar("silent", loss))
    with summary.always_record_summaries():
        counted(lambda: summary.scalar("loss", loss))
        with tf.name_scope("net"):
            counted(lambda: summary.scalar("loss", loss, family="losses"))
            counted(lambda: summary.histogram("weights", weights))
            counted(lambda: summary.image("picture", pictures, max_images=1))
            counted(lambda: summary.image("pictures", pictures))
        counted(lambda: summary.scalar("late", loss, step=77))
        counted(lambda: summary.scalar("loss", loss))
        counted(lambda: summary.generic("table", weights))
    with summary.record_summaries_every_n_global_steps(2):
        counted(lambda: summary.scalar("seldom", loss))
    with summary.never_record_summaries():
        counted(lambda: summary.scalar("never", loss))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(summary.summary_writer_initializer_op())
    for number in range(3):
        sess.run(step.assign(number))
        print([bool(value) for value in sess.run(summary.all_summary_ops())])
    sess.run(writer.flush())

events = [event for event in tf.train.summary_iterator(glob.glob("log/*.v2")[0])]
print(events[0].file_version)
found = [(event.step, value.tag, value.WhichOneof("value")) for event in events for value in event.summary.value]
for line in sorted(found):
    print(*line)
