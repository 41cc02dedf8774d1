"""Recurrent networks of `tf.contrib`: cells, attention, decoders, beam search."""
