"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
 Made by tools/type_stubs.py."""

from staticgraph.arrays.space import (
    extract_image_patches as extract_image_patches,
    extract_patches as extract_patches,
)
from staticgraph.domains.image.augment import (
    random_brightness as random_brightness,
    random_contrast as random_contrast,
    random_flip_left_right as random_flip_left_right,
    random_flip_up_down as random_flip_up_down,
    random_hue as random_hue,
    random_saturation as random_saturation,
)
from staticgraph.domains.image.boxes import (
    crop_and_resize as crop_and_resize,
    draw_bounding_boxes as draw_bounding_boxes,
    sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from staticgraph.domains.image.color import (
    adjust_hue as adjust_hue,
    adjust_saturation as adjust_saturation,
    grayscale_to_rgb as grayscale_to_rgb,
    hsv_to_rgb as hsv_to_rgb,
    rgb_to_grayscale as rgb_to_grayscale,
    rgb_to_hsv as rgb_to_hsv,
    rgb_to_yiq as rgb_to_yiq,
    rgb_to_yuv as rgb_to_yuv,
    yiq_to_rgb as yiq_to_rgb,
    yuv_to_rgb as yuv_to_rgb,
)
from staticgraph.domains.image.combined_suppression import (
    combined_non_max_suppression as combined_non_max_suppression,
)
from staticgraph.domains.image.files import (
    adjust_jpeg_quality as adjust_jpeg_quality,
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_bmp as decode_bmp,
    decode_gif as decode_gif,
    decode_image as decode_image,
    decode_jpeg as decode_jpeg,
    decode_png as decode_png,
    encode_jpeg as encode_jpeg,
    encode_png as encode_png,
    extract_jpeg_shape as extract_jpeg_shape,
    is_jpeg as is_jpeg,
    random_jpeg_quality as random_jpeg_quality,
)
from staticgraph.domains.image.geometry import (
    central_crop as central_crop,
    crop_to_bounding_box as crop_to_bounding_box,
    flip_left_right as flip_left_right,
    flip_up_down as flip_up_down,
    pad_to_bounding_box as pad_to_bounding_box,
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
    resize_image_with_crop_or_pad as _resize_with_crop_or_pad,
    rot90 as rot90,
    transpose_image as _transpose,
    transpose_image as transpose_image,
)
from staticgraph.domains.image.glimpse import (
    extract_glimpse as extract_glimpse,
)
from staticgraph.domains.image.intensity import (
    adjust_brightness as adjust_brightness,
    adjust_contrast as adjust_contrast,
    adjust_gamma as adjust_gamma,
    convert_image_dtype as convert_image_dtype,
    per_image_standardization as per_image_standardization,
)
from staticgraph.domains.image.quality import (
    image_gradients as image_gradients,
    psnr as psnr,
    sobel_edges as sobel_edges,
    ssim as ssim,
    ssim_multiscale as ssim_multiscale,
    total_variation as total_variation,
)
from staticgraph.domains.image.resizing import (
    ResizeMethod as ResizeMethod,
    resize_images as _resize,
    resize_area as resize_area,
    resize_bicubic as resize_bicubic,
    resize_bilinear as resize_bilinear,
    resize_image_with_pad as resize_image_with_pad,
    resize_images as resize_images,
    resize_nearest_neighbor as resize_nearest_neighbor,
)
from staticgraph.domains.image.suppression import (
    non_max_suppression as non_max_suppression,
    non_max_suppression_overlaps as non_max_suppression_overlaps,
    non_max_suppression_padded as non_max_suppression_padded,
    non_max_suppression_with_scores as non_max_suppression_with_scores,
)
from staticgraph.random_numbers.random_ops import (
    random_crop as random_crop,
)

resize = _resize
resize_with_crop_or_pad = _resize_with_crop_or_pad
transpose = _transpose
