"""An image and a few marks in, a label and a confidence for every pixel out; nobody else knows a pixel."""

from phaselabel.segmentation.files import read_image, read_marks
from phaselabel.segmentation.marks import Marks
from phaselabel.segmentation.pipeline import Segmentation, segment

__all__ = ["Marks", "Segmentation", "read_image", "read_marks", "segment"]
