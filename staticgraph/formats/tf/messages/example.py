"""Training examples as they lie in TFRecord files: named lists of bytes, floats or integers."""

from staticgraph.formats.tf.messages.message import Message


class BytesList(Message):
    """Strings of bytes."""

    schema = """
        repeated bytes value = 1
    """


class FloatList(Message):
    """Numbers of 32 bits."""

    schema = """
        repeated float value = 1
    """


class Int64List(Message):
    """Whole numbers."""

    schema = """
        repeated int64 value = 1
    """


class Feature(Message):
    """One list, of one of three kinds."""

    schema = """
        BytesList bytes_list = 1 in kind
        FloatList float_list = 2 in kind
        Int64List int64_list = 3 in kind
    """


class Features(Message):
    """Lists by name."""

    schema = """
        map<string, Feature> feature = 1
    """


class Example(Message):
    """One training example."""

    schema = """
        Features features = 1
    """


class FeatureList(Message):
    """The features of one name at successive steps."""

    schema = """
        repeated Feature feature = 1
    """


class FeatureLists(Message):
    """Sequences of features by name."""

    schema = """
        map<string, FeatureList> feature_list = 1
    """


class SequenceExample(Message):
    """A training example with sequences; `context` holds what does not change along them."""

    schema = """
        Features context = 1
        FeatureLists feature_lists = 2
    """
