"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
"""

from staticgraph.arrays.space import extract_image_patches as extract_image_patches
from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.domains.image.augment import *
from staticgraph.domains.image.boxes import *
from staticgraph.domains.image.color import *
from staticgraph.domains.image.combined_suppression import *
from staticgraph.domains.image.files import *
from staticgraph.domains.image.geometry import *
from staticgraph.domains.image.glimpse import *
from staticgraph.domains.image.intensity import *
from staticgraph.domains.image.quality import *
from staticgraph.domains.image.resizing import *
from staticgraph.domains.image.suppression import *
from staticgraph.random_numbers.random_ops import random_crop as random_crop

resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image

export_names(__name__, "extract_image_patches random_crop resize resize_with_crop_or_pad transpose")
