"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
"""

from staticgraph.arrays.space import extract_image_patches
from staticgraph.image.augment import (
    random_brightness,
    random_contrast,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
)
from staticgraph.image.boxes import (
    crop_and_resize,
    draw_bounding_boxes,
    sample_distorted_bounding_box,
)
from staticgraph.image.color import (
    adjust_hue,
    adjust_saturation,
    grayscale_to_rgb,
    hsv_to_rgb,
    rgb_to_grayscale,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    yiq_to_rgb,
    yuv_to_rgb,
)
from staticgraph.image.files import (
    adjust_jpeg_quality,
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
    random_jpeg_quality,
)
from staticgraph.image.geometry import (
    central_crop,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
    rot90,
    transpose_image,
)
from staticgraph.image.geometry import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from staticgraph.image.geometry import transpose_image as transpose
from staticgraph.image.glimpse import extract_glimpse
from staticgraph.image.intensity import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    convert_image_dtype,
    per_image_standardization,
)
from staticgraph.image.quality import (
    image_gradients,
    psnr,
    sobel_edges,
    ssim,
    ssim_multiscale,
    total_variation,
)
from staticgraph.image.resizing import (
    ResizeMethod,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_image_with_pad,
    resize_images,
    resize_nearest_neighbor,
)
from staticgraph.image.resizing import resize_images as resize
from staticgraph.image.suppression import (
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
)
from staticgraph.random_numbers.random_ops import random_crop

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_jpeg_quality", "adjust_saturation", "central_crop", "convert_image_dtype", "crop_and_resize",
    "crop_to_bounding_box", "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image",
    "decode_jpeg", "decode_png", "draw_bounding_boxes", "encode_jpeg", "encode_png",
    "extract_glimpse", "extract_image_patches", "extract_jpeg_shape", "flip_left_right", "flip_up_down",
    "grayscale_to_rgb", "hsv_to_rgb", "image_gradients", "is_jpeg", "non_max_suppression",
    "non_max_suppression_overlaps", "non_max_suppression_padded", "non_max_suppression_with_scores",
    "pad_to_bounding_box", "per_image_standardization", "psnr", "random_brightness", "random_contrast",
    "random_crop",
    "random_flip_left_right", "random_flip_up_down", "random_hue", "random_jpeg_quality",
    "random_saturation", "resize", "resize_area", "resize_bicubic", "resize_bilinear",
    "resize_image_with_crop_or_pad", "resize_image_with_pad", "resize_images", "resize_nearest_neighbor",
    "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rot90",
    "sample_distorted_bounding_box", "sobel_edges", "ssim", "ssim_multiscale", "total_variation",
    "transpose", "transpose_image", "yiq_to_rgb", "yuv_to_rgb",
]  # fmt: skip
