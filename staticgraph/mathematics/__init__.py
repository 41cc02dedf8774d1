"""Mathematics: functions of elements, and reductions along axes, by TensorFlow 1's names."""
