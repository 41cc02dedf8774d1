"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
"""

from staticgraph.arrays.space import extract_image_patches as extract_image_patches
from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.image.augment import *
from staticgraph.image.boxes import *
from staticgraph.image.color import *
from staticgraph.image.files import *
from staticgraph.image.geometry import *
from staticgraph.image.glimpse import *
from staticgraph.image.intensity import *
from staticgraph.image.quality import *
from staticgraph.image.resizing import *
from staticgraph.image.suppression import *
from staticgraph.random_numbers.random_ops import random_crop as random_crop

resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image

export_names(__name__, "extract_image_patches random_crop resize resize_with_crop_or_pad transpose")
