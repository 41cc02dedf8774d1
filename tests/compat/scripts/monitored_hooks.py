"""A MonitoredTrainingSession with hooks, of the library and of one's own."""
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


class Recorder(tf.train.SessionRunHook):
    def __init__(self, tensor):
        self.tensor, self.seen = tensor, []

    def begin(self):
        print("begin", tf.get_default_graph() is self.tensor.graph)

    def after_create_session(self, session, coord):
        print("created")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.tensor, feed_dict={x: 0.5})

    def after_run(self, run_context, run_values):
        self.seen.append(round(float(run_values.results), 4))

    def end(self, session):
        print("end", len(self.seen))


x = tf.placeholder(tf.float32, [])
w = tf.Variable(2.0)
step = tf.train.get_or_create_global_step()
loss = tf.square(w * x - 1.0)
train = tf.train.AdagradOptimizer(0.5).minimize(loss, global_step=step)
recorder = Recorder(loss)
hooks = [recorder, tf.train.StopAtStepHook(last_step=6), tf.train.NanTensorHook(loss)]
with tf.train.MonitoredTrainingSession(checkpoint_dir="monitored", hooks=hooks, save_checkpoint_steps=3) as sess:
    while not sess.should_stop():
        sess.run(train)
print(recorder.seen)
hooks = [tf.train.StopAtStepHook(num_steps=1)]
with tf.train.SingularMonitoredSession(hooks=hooks, checkpoint_dir="monitored") as sess:
    print("goes on at", sess.raw_session().run(step))
    sess.run(train, feed_dict={x: 0.5})
    print("stops", sess.should_stop())
