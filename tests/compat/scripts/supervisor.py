"""A Supervisor: it saves, summarizes, stops, and goes on from where it was."""
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def run(steps):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=10.0)
        loss = tf.square(w)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        supervisor = tf.train.Supervisor(logdir="supervised", global_step=step, save_model_secs=0, summary_op=None)
        with supervisor.managed_session() as sess:
            began = sess.run(step)
            for _ in range(steps):
                if supervisor.should_stop():
                    break
                _, at = sess.run([train, step])
            supervisor.saver.save(sess, supervisor.save_path, global_step=step)
            print("from", began, "to", sess.run(step), "w %.4f" % sess.run(w))


run(3)
run(2)
