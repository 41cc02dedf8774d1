"""Uses names that do not exist in any release."""
import tensorflow as tf

slim = tf.contrib.slim
print("before")
x = tf.constant([1.0])
y = tf.nn.relu_seven(x)
z = slim.conv2d_with_magic(x)
