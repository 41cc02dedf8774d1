"""Parts of TensorFlow 1 outside the core: Keras, estimators, datasets, queues, summaries, `contrib`.

The core does not need them. Public paths stay short (`staticgraph.keras`): see `public_paths.py`.
"""
