"""Mathematics: functions of elements, reductions along axes, and products, by TensorFlow 1's names."""
