"""The modules that declare ops which a saved graph may hold, and that are imported when they are used."""

from __future__ import annotations


def declare(name: str) -> object:
    """Import the module of ours that declares the op `name`, if there is one: the module, or None."""
    match name:
        case "count_below":
            from staticgraph.state import counting

            return counting
        case "cross_op":
            from staticgraph.sparse import crossing

            return crossing
        case "place_in_vocabulary":
            from staticgraph.tf1.feature_column import vocabulary

            return vocabulary
        case (
            "adjust_jpeg_quality"
            | "decode_and_crop_jpeg"
            | "decode_bmp"
            | "decode_gif"
            | "decode_image"
            | "decode_jpeg"
            | "decode_png"
            | "encode_jpeg"
            | "encode_png"
            | "extract_jpeg_shape"
            | "is_jpeg"
        ):
            from staticgraph.image import file_ops

            return file_ops
        case (
            "parse_example_op"
            | "parse_sequence_example_op"
            | "parse_single_example_op"
            | "parse_single_sequence_example_op"
        ):
            from staticgraph.io import example_ops

            return example_ops
        case "parse_tensor_op" | "serialize_tensor_op":
            from staticgraph.io import tensors

            return tensors
        case (
            "audio_summary"
            | "histogram_summary"
            | "image_summary"
            | "merge_summary"
            | "scalar_summary"
            | "tensor_summary_v2"
        ):
            from staticgraph.tf1.summary import ops

            return ops
        case "some_names":
            from staticgraph.train import input_producers

            return input_producers
    return None
