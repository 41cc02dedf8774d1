"""Golden numbers: small cases whose answers were recorded once from TensorFlow 1.15.5."""
