"""Input of `tf.contrib.slim`: records of files through queues (`readers`), decoded to items (`decoders`)."""
