"""Random numbers: TensorFlow 1's streams, with and without state. The namespace is `random`."""
