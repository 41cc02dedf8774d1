"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
"""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.arrays.space": "extract_image_patches extract_patches",
        "staticgraph.domains.image.augment": (
            "random_brightness random_contrast random_flip_left_right random_flip_up_down random_hue "
            "random_saturation"
        ),
        "staticgraph.domains.image.boxes": (
            "crop_and_resize draw_bounding_boxes sample_distorted_bounding_box"
        ),
        "staticgraph.domains.image.color": (
            "adjust_hue adjust_saturation grayscale_to_rgb hsv_to_rgb rgb_to_grayscale rgb_to_hsv "
            "rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb"
        ),
        "staticgraph.domains.image.combined_suppression": "combined_non_max_suppression",
        "staticgraph.domains.image.files": (
            "adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg "
            "decode_png encode_jpeg encode_png extract_jpeg_shape is_jpeg random_jpeg_quality"
        ),
        "staticgraph.domains.image.geometry": (
            "central_crop crop_to_bounding_box flip_left_right flip_up_down pad_to_bounding_box "
            "resize_image_with_crop_or_pad resize_with_crop_or_pad=resize_image_with_crop_or_pad rot90 "
            "transpose=transpose_image transpose_image"
        ),
        "staticgraph.domains.image.glimpse": "extract_glimpse",
        "staticgraph.domains.image.intensity": (
            "adjust_brightness adjust_contrast adjust_gamma convert_image_dtype per_image_standardization"
        ),
        "staticgraph.domains.image.quality": (
            "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation"
        ),
        "staticgraph.domains.image.resizing": (
            "resize=resize_images resize_area resize_bicubic resize_bilinear resize_image_with_pad "
            "resize_images resize_nearest_neighbor ResizeMethod"
        ),
        "staticgraph.domains.image.suppression": (
            "non_max_suppression non_max_suppression_overlaps non_max_suppression_padded "
            "non_max_suppression_with_scores"
        ),
        "staticgraph.random_numbers.random_ops": "random_crop",
    },
)
