"""A program with flags, files and a main function."""
import os

import tensorflow as tf

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("work_folder", "work", "Where files go")
flags.DEFINE_integer("n_rounds", 3, "How many rounds")
flags.DEFINE_float("step_size", 0.25, "The size of a step")
flags.DEFINE_boolean("be_loud", False, "Whether to say more")


def main(_):
    if tf.gfile.Exists(FLAGS.work_folder):
        tf.gfile.DeleteRecursively(FLAGS.work_folder)
    tf.gfile.MakeDirs(FLAGS.work_folder)
    w = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(FLAGS.step_size).minimize(tf.square(w - 3.0))
    with tf.Session() as sess, tf.gfile.GFile(os.path.join(FLAGS.work_folder, "log.txt"), "w") as log:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.n_rounds):
            sess.run(train)
            log.write("%.4f\n" % sess.run(w))
    print(tf.gfile.Open(os.path.join(FLAGS.work_folder, "log.txt")).read().split(), FLAGS.be_loud)
    print(tf.gfile.ListDirectory(FLAGS.work_folder), tf.gfile.Glob(FLAGS.work_folder + "/*.txt"))


if __name__ == "__main__":
    tf.app.run()
