"""Summaries: what a program reports of a step, for TensorBoard."""

from staticgraph.formats.tf.messages.message import Message


class SummaryDescription(Message):
    """Type of a summary, as a hint for programs that show it."""

    schema = """
        string type_hint = 1
    """


class SummaryMetadata(Message):
    """Display of a value: the plugin that shows it, its name and its description."""

    schema = """
        SummaryMetadata.PluginData plugin_data = 1
        string display_name = 2
        string summary_description = 3
    """

    class PluginData(Message):
        """The plugin, and what it wants to know."""

        schema = """
            string plugin_name = 1
            bytes content = 2
        """


class HistogramProto(Message):
    """Number of values in each bucket, which lies below a limit and above the limit before it."""

    schema = """
        double min = 1
        double max = 2
        double num = 3
        double sum = 4
        double sum_squares = 5
        repeated double bucket_limit = 6
        repeated double bucket = 7
    """


class Summary(Message):
    """The values that are reported together."""

    schema = """
        repeated Summary.Value value = 1
    """

    class Value(Message):
        """One value, of one of several kinds, under a tag."""

        schema = """
            string tag = 1
            float simple_value = 2 in value
            bytes obsolete_old_style_histogram = 3 in value
            Summary.Image image = 4 in value
            HistogramProto histo = 5 in value
            Summary.Audio audio = 6 in value
            string node_name = 7
            TensorProto tensor = 8 in value
            SummaryMetadata metadata = 9
        """

    class Image(Message):
        """An image, encoded as PNG or another format."""

        schema = """
            int32 height = 1
            int32 width = 2
            int32 colorspace = 3
            bytes encoded_image_string = 4
        """

    class Audio(Message):
        """A sound, encoded as WAV."""

        schema = """
            float sample_rate = 1
            int64 num_channels = 2
            int64 length_frames = 3
            bytes encoded_audio_string = 4
            string content_type = 5
        """
