"""Sentences by convolutions of several widths over embedded words, pooled over time."""
import numpy as np
import tensorflow as tf

sentences = ["good fun film", "bad dull film", "very good plot", "very bad plot", "fun plot", "dull plot"] * 4
y = np.array([[0, 1], [1, 0]] * 12, dtype=np.float32)
vocab_processor = tf.contrib.learn.preprocessing.VocabularyProcessor(4)
x = np.array(list(vocab_processor.fit_transform(sentences)))


class TextCNN(object):
    def __init__(self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes, num_filters, l2=0.0):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        self.dropout_keep_prob = tf.placeholder(tf.float32, name="dropout_keep_prob")
        l2_loss = tf.constant(0.0)
        with tf.device("/cpu:0"), tf.name_scope("embedding"):
            self.W = tf.Variable(tf.random_uniform([vocab_size, embedding_size], -1.0, 1.0, seed=1), name="W")
            self.embedded = tf.expand_dims(tf.nn.embedding_lookup(self.W, self.input_x), -1)
        pooled_outputs = []
        for i, filter_size in enumerate(filter_sizes):
            with tf.name_scope("conv-maxpool-%s" % filter_size):
                shape = [filter_size, embedding_size, 1, num_filters]
                W = tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=i), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
                conv = tf.nn.conv2d(self.embedded, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
                h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
                size = [1, sequence_length - filter_size + 1, 1, 1]
                pooled_outputs.append(tf.nn.max_pool(h, size, [1, 1, 1, 1], "VALID", name="pool"))
        self.h_pool_flat = tf.reshape(tf.concat(pooled_outputs, 3), [-1, num_filters * len(filter_sizes)])
        h_drop = tf.nn.dropout(self.h_pool_flat, self.dropout_keep_prob)
        with tf.name_scope("output"):
            initializer = tf.contrib.layers.xavier_initializer(seed=5)
            W = tf.get_variable("W", [num_filters * len(filter_sizes), num_classes], initializer=initializer)
            b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
            l2_loss += tf.nn.l2_loss(W) + tf.nn.l2_loss(b)
            self.scores = tf.nn.xw_plus_b(h_drop, W, b, name="scores")
            self.predictions = tf.argmax(self.scores, 1, name="predictions")
        losses = tf.nn.softmax_cross_entropy_with_logits(logits=self.scores, labels=self.input_y)
        self.loss = tf.reduce_mean(losses) + l2 * l2_loss
        correct = tf.equal(self.predictions, tf.argmax(self.input_y, 1))
        self.accuracy = tf.reduce_mean(tf.cast(correct, "float"), name="accuracy")


with tf.Graph().as_default():
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
    with sess.as_default():
        cnn = TextCNN(x.shape[1], 2, len(vocab_processor.vocabulary_), 6, [2, 3], 5, l2=0.01)
        global_step = tf.Variable(0, name="global_step", trainable=False)
        optimizer = tf.train.AdamOptimizer(1e-2)
        grads_and_vars = optimizer.compute_gradients(cnn.loss)
        train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)
        for g, v in grads_and_vars:
            if g is not None:
                tf.summary.histogram("{}/grad/hist".format(v.name.replace(":", "_")), g)
        merged = tf.summary.merge_all()
        sess.run(tf.global_variables_initializer())
        for _ in range(30):
            feed = {cnn.input_x: x, cnn.input_y: y, cnn.dropout_keep_prob: 1.0}
            _, step, loss, accuracy, _ = sess.run([train_op, global_step, cnn.loss, cnn.accuracy, merged], feed)
            if step % 10 == 0:
                print("step {}, loss {:.4f}, acc {:g}".format(step, loss, accuracy))
