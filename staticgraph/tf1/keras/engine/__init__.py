"""Models of Keras: how layers become models, and how models learn."""
