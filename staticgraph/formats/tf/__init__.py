"""TensorFlow's formats: GraphDef, SavedModel, and the messages that both are made of."""
