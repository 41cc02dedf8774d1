"""Summaries, event files for TensorBoard, and the messages in them (TF1's `tf.summary`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.formats.tf.messages.event": "Event SessionLog TaggedRunMetadata",
        "staticgraph.formats.tf.messages.summary": "Summary SummaryDescription",
        "staticgraph.tf1.summary.event_file": "summary_iterator",
        "staticgraph.tf1.summary.summaries": (
            "audio get_summary_description histogram image merge merge_all scalar tensor_summary text"
        ),
        "staticgraph.tf1.summary.writer": "FileWriter FileWriterCache",
    },
    modules={"encode": "staticgraph.tf1.summary.encode"},
)
