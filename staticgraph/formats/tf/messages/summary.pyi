"""Summaries: what a program reports of a step, for TensorBoard. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class SummaryDescription(Message):
    """Type of a summary, as a hint for programs that show it."""
    type_hint: typing.Any
class SummaryMetadata(Message):
    """Display of a value: the plugin that shows it, its name and its description."""
    class PluginData(Message):
        """The plugin, and what it wants to know."""
        plugin_name: typing.Any
        content: typing.Any
    plugin_data: typing.Any
    display_name: typing.Any
    summary_description: typing.Any
class HistogramProto(Message):
    """Number of values in each bucket, which lies below a limit and above the limit before it."""
    min: typing.Any
    max: typing.Any
    num: typing.Any
    sum: typing.Any
    sum_squares: typing.Any
    bucket_limit: typing.Any
    bucket: typing.Any
class Summary(Message):
    """The values that are reported together."""
    class Value(Message):
        """One value, of one of several kinds, under a tag."""
        tag: typing.Any
        simple_value: typing.Any
        obsolete_old_style_histogram: typing.Any
        image: typing.Any
        histo: typing.Any
        audio: typing.Any
        node_name: typing.Any
        tensor: typing.Any
        metadata: typing.Any
    class Image(Message):
        """An image, encoded as PNG or another format."""
        height: typing.Any
        width: typing.Any
        colorspace: typing.Any
        encoded_image_string: typing.Any
    class Audio(Message):
        """A sound, encoded as WAV."""
        sample_rate: typing.Any
        num_channels: typing.Any
        length_frames: typing.Any
        encoded_audio_string: typing.Any
        content_type: typing.Any
    value: typing.Any
