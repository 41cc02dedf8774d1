"""The messages `Example` and `SequenceExample`, read in batches without a class for each."""
