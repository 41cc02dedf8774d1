# A script as it was written for TensorFlow 1.15 with parameter servers and synchronous training.
import hashlib
import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("job_name", "worker", "One of 'ps' and 'worker'")
flags.DEFINE_integer("task_index", 0, "Index of task within the job")
flags.DEFINE_string("ps_hosts", "localhost:2221", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("worker_hosts", "localhost:2222", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("train_dir", None, "Directory for checkpoints")
flags.DEFINE_boolean("sync", True, "Use SyncReplicasOptimizer")
flags.DEFINE_boolean("supervisor", False, "Use a Supervisor, and no MonitoredTrainingSession")
FLAGS = flags.FLAGS
tf.logging.set_verbosity(tf.logging.ERROR)


def data():
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 4, 400)
    images = rng.randn(400, 8).astype(np.float32) * 0.3
    images[np.arange(400), labels] += 2.0
    return images, labels


def main(_):
    workers = FLAGS.worker_hosts.split(",")
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": workers})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()  # which does not return
        os.write(1, b"ps goes on\n")
    is_chief = FLAGS.task_index == 0
    device = "/job:worker/task:%d" % FLAGS.task_index
    with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 8])
        y = tf.placeholder(tf.int64, [None])
        hidden = tf.layers.dense(x, 16, activation=tf.nn.relu)
        logits = tf.layers.dense(hidden, 4)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
        opt = tf.train.AdamOptimizer(0.02)
        hooks = [tf.train.StopAtStepHook(last_step=120)]
        if FLAGS.sync:
            opt = tf.train.SyncReplicasOptimizer(
                opt, replicas_to_aggregate=len(workers), total_num_replicas=len(workers)
            )
            hooks.append(opt.make_session_run_hook(is_chief))
        train_op = opt.minimize(loss, global_step=global_step)
        weights = tf.concat([tf.reshape(v, [-1]) for v in tf.trainable_variables()], 0)

    images, labels = data()
    rng = np.random.RandomState(FLAGS.task_index)
    if FLAGS.supervisor:
        supervisor = tf.train.Supervisor(
            is_chief=is_chief,
            logdir=FLAGS.train_dir,
            init_op=tf.global_variables_initializer(),
            local_init_op=opt.chief_init_op if is_chief else opt.local_step_init_op,
            ready_for_local_init_op=opt.ready_for_local_init_op,
            recovery_wait_secs=1,
            global_step=global_step,
        )
        session = supervisor.managed_session(server.target)
    else:
        session = tf.train.MonitoredTrainingSession(
            master=server.target, is_chief=is_chief, checkpoint_dir=FLAGS.train_dir, hooks=hooks
        )
    step = 0
    with session as sess:
        while step < 120:
            rows = rng.randint(0, len(images), 32)
            _, part, values, step = sess.run(
                [train_op, right, weights, global_step], {x: images[rows], y: labels[rows]}
            )
    digest = hashlib.md5(values.tobytes()).hexdigest()
    os.write(1, ("RESULT %d %s step %d right %s\n" % (FLAGS.task_index, digest, step, part > 0.9)).encode())


if __name__ == "__main__":
    tf.app.run()
