"""An image and a few marks in, a label and a confidence for every pixel out; only this room knows pixels."""

from phaselabel.segmentation.image_files import read_image
from phaselabel.segmentation.mark_files import read_marks
from phaselabel.segmentation.marks import Marks
from phaselabel.segmentation.one_image import segment
from phaselabel.segmentation.segmentation import Segmentation
from phaselabel.segmentation.segmenter import Segmenter

__all__ = ["Marks", "Segmentation", "Segmenter", "read_image", "read_marks", "segment"]
