"""A picture is what is trained: its features come near one picture, their products another."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
content, style = (rng.rand(1, 8, 8, 3).astype(np.float32) for _ in range(2))
kernels = [rng.randn(3, 3, 3, 4).astype(np.float32) * 0.3, rng.randn(3, 3, 4, 4).astype(np.float32) * 0.3]
input_img = tf.get_variable("in_img", shape=[1, 8, 8, 3], dtype=tf.float32, initializer=tf.zeros_initializer())


def features(picture):
    layers = []
    for number, kernel in enumerate(kernels):
        with tf.variable_scope("conv%d" % number):
            picture = tf.nn.relu(tf.nn.conv2d(picture, tf.constant(kernel, name="weights"), [1, 1, 1, 1], "SAME"))
            layers.append(picture)
            picture = tf.nn.avg_pool(picture, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
    return layers


def gram_matrix(F, N, M):
    F = tf.reshape(F, (M, N))
    return tf.matmul(tf.transpose(F), F)


layers = features(input_img)
with tf.Session() as sess:
    sess.run(input_img.initializer)
    sess.run(input_img.assign(content))
    P = sess.run(layers[-1])
    content_loss = tf.reduce_sum((layers[-1] - P) ** 2) / (4.0 * P.size)
    sess.run(input_img.assign(style))
    grams = [g for g in sess.run([gram_matrix(f, f.shape[3].value, f.shape[1].value ** 2) for f in layers])]
    E = [
        tf.reduce_sum((gram_matrix(f, f.shape[3].value, f.shape[1].value ** 2) - g) ** 2) / g.size
        for f, g in zip(layers, grams)
    ]
    total_loss = 1.0 * content_loss + 0.01 * sum(w * e for w, e in zip([0.5, 1.0], E))
    opt = tf.train.AdamOptimizer(0.05).minimize(total_loss, var_list=[input_img])
    sess.run(tf.global_variables_initializer())
    sess.run(input_img.assign(content * 0.8 + 0.1))
    for index in range(31):
        sess.run(opt)
        if index % 10 == 0:
            print("Step %d loss %.5f" % (index, sess.run(total_loss)))
