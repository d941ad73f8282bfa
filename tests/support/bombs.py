"""Small files that would take much memory, and the memory that reading one takes."""

import subprocess
import sys
import zlib

import pytest

CODE = """
import resource, sys
import numpy, tifffile, scipy.io
from phaselabel.segmentation.image_files import read_image
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_image(sys.argv[1])
except ValueError as error:
    print(error, file=sys.stderr)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) / 1024)
"""


def deflated_zeros(n_bytes, start=b""):
    """``start`` and ``n_bytes`` zeros, compressed to a thousandth."""
    packer = zlib.compressobj(9)
    block = bytes(2**22)
    parts = [packer.compress(start), *(packer.compress(block) for _ in range(n_bytes // len(block)))]
    return b"".join(parts) + packer.flush()


def peak_of_reading(path):
    """The memory in MiB that ``read_image`` takes, and the sentence that it ends in."""
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout), done.stderr
