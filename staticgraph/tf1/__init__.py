"""What TensorFlow 1 also had: Keras, estimators, datasets, queues, summaries, `contrib`.

The core does not need it. Public paths stay short (`staticgraph.keras`): see `public_paths.py`.
"""
