"""tf.contrib.image, resampler and sparsemax: values and gradients."""

import numpy as np
import tensorflow as tf

image = tf.contrib.image
rng = np.random.RandomState(0)


def floats(*shape):
    return tf.constant(rng.randn(*shape), tf.float32)


pictures = floats(2, 5, 6, 3)
whole = tf.constant(rng.randint(0, 255, size=(2, 4, 5, 1)), tf.uint8)
turn = image.angles_to_projective_transforms([0.3, -1.0], 5.0, 6.0)
move = image.translations_to_projective_transforms([1.5, -0.5])
bent = tf.constant([[1.1, 0.1, 0.3, -0.2, 0.9, 0.4, 0.01, -0.02]])
flow = floats(2, 5, 6, 2)
points, values, asked = floats(2, 7, 2), floats(2, 7, 3), floats(2, 4, 2)
places = tf.constant(rng.uniform(-2, 7, size=(2, 3, 4, 2)), tf.float32)
fetches = {
    "turn": turn,
    "move": move,
    "rotated": image.rotate(pictures, [0.3, -1.0]),
    "rotated_smoothly": image.rotate(pictures, 0.7, interpolation="BILINEAR"),
    "rotated_whole": image.rotate(whole, 0.4, "BILINEAR"),
    "rotated_flat": image.rotate(pictures[0, :, :, 0], 0.5),
    "translated": image.translate(pictures, [1.0, -2.0]),
    "translated_smoothly": image.translate(pictures[0], [0.4, 1.3], "BILINEAR"),
    "translated_each": image.translate(whole, [[1, 0], [-1, 2]]),
    "bent": image.transform(pictures, bent, interpolation="BILINEAR"),
    "larger": image.transform(pictures, bent, output_shape=[7, 4]),
    "composed": image.compose_transforms(turn, move, bent),
    "matrices": image.flat_transforms_to_matrices(bent),
    "flat": image.matrices_to_flat_transforms(2.0 * image.flat_transforms_to_matrices(turn)),
    "warped": image.dense_image_warp(pictures, flow),
    "resampled": tf.contrib.resampler.resampler(pictures, places),
}
for order in (1, 2, 3, 4, 6):
    fetches["spline_%d" % order] = image.interpolate_spline(points, values, asked, order)
fetches["spline_smooth"] = image.interpolate_spline(points, values, asked, 2, regularization_weight=0.5)
source = tf.constant([[[1.0, 1.0], [3.0, 4.0]], [[2.0, 2.0], [1.0, 4.0]]])
target = source + tf.constant([[[0.5, -0.5], [0.0, 1.0]], [[1.0, 0.0], [0.2, 0.3]]])
for edge in (1, 3):
    warped, dense = image.sparse_image_warp(pictures, source, target, num_boundary_points=edge)
    fetches["sparse_%d" % edge], fetches["dense_%d" % edge] = warped, dense
fetches["warped_gradient"], fetches["flow_gradient"] = tf.gradients(fetches["warped"] ** 2, [pictures, flow])
fetches["data_gradient"], fetches["place_gradient"] = tf.gradients(fetches["resampled"] ** 2, [pictures, places])

logits = tf.concat([floats(4, 5), [[9.0, 1.0, 1.0, 0.0, 0.0], [0.0] * 5, [float("nan"), 1.0, 2.0, 3.0, 4.0]]], 0)
labels = tf.one_hot([1, 0, 4, 2, 0, 3, 1], 5)
probabilities = tf.contrib.sparsemax.sparsemax(logits)
loss = tf.contrib.sparsemax.sparsemax_loss(logits, probabilities, labels)
fetches.update(
    sparsemax=probabilities,
    sparsemax_loss=loss,
    sparsemax_gradient=tf.gradients(loss[:6], logits)[0][:6],
    sparsemax_vjp=tf.gradients(probabilities * labels, logits)[0][:5],
)
with tf.Session() as sess:
    found = sess.run(fetches)
    for name in sorted(found):
        flat = found[name].astype(np.float64).ravel()
        print(name, found[name].dtype, found[name].shape, "%.3f" % np.abs(flat).sum(), ["%.4f" % x for x in flat[:8]])
    spots = (rng.rand(2, 8, 9) > 0.4).astype(np.int32) * rng.randint(1, 3, size=(2, 8, 9))
    print(sess.run(image.connected_components(tf.constant(spots))).tolist())
    print(sess.run(image.connected_components(tf.constant(spots[0] > 0))).tolist())
    spiral = np.zeros((7, 7), np.float32)
    spiral[0], spiral[:, 6], spiral[6], spiral[2:, 0], spiral[2, :5], spiral[2:5, 4], spiral[4, 2:5] = [1.5] * 7
    print(sess.run(image.connected_components(tf.constant(spiral))).tolist())
for wrong in (
    lambda: image.rotate(tf.zeros([3]), 1.0),
    lambda: image.translate(pictures, [[[1.0, 2.0]]]),
    lambda: image.angles_to_projective_transforms([[1.0]], 2.0, 2.0),
    lambda: image.connected_components(tf.zeros([2])),
):
    try:
        wrong()
    except TypeError:
        print("refused")
