"""Small files that would take much memory, and the memory that reading one takes."""

import zlib

import pytest

from processes import forked


def deflated_zeros(n_bytes, start=b""):
    """``start`` and ``n_bytes`` zeros, compressed to a thousandth: one block of them, many times."""
    packer, zeros, n_blocks = zlib.compressobj(9), bytes(2**22), n_bytes // 2**22
    head = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)  # it refers to nothing before it
    check = zlib.adler32(start)
    for _ in range(n_blocks):
        check = zlib.adler32(zeros, check)
    return head + n_blocks * block + b"\x03\x00" + check.to_bytes(4, "big")


def _read(path):
    import resource

    from phaselabel.segmentation.image_files import read_image

    used, sentence = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ""
    try:
        read_image(path)
    except ValueError as error:
        sentence = str(error)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) / 1024, sentence


def peak_of_reading(path):
    """The memory in MiB that ``read_image`` takes, and the sentence that it ends in."""
    pytest.importorskip("resource")
    return forked(_read, path)
