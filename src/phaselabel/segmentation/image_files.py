"""A file of an image in, its pixels out: pictures, TIFF, NPY, NPZ, MAT, Zarr and ENVI."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.axes import axis_letters, by_axes, check_one_plane
from phaselabel.segmentation.limits import Refusal, check_values
from phaselabel.segmentation.matlab import read_matlab
from phaselabel.segmentation.numpy_files import read_numpy
from phaselabel.segmentation.opacity import multiplied_by_opacity
from phaselabel.segmentation.pictures import import_pillow, one_sentence_errors, open_picture
from phaselabel.segmentation.tiff import read_tiff

TIFF_SUFFIXES = (".tif", ".tiff")
NUMPY_SUFFIXES = (".npy", ".npz")
MATLAB_SUFFIXES = (".mat",)
ZARR_SUFFIXES = (".zarr",)
#: Of a header and of the data files beside it, which may have none.
ENVI_SUFFIXES = (".hdr", ".img", ".dat", ".raw", ".bil", ".bip", ".bsq", "")


def read_image(path: str | Path, variable: str | None = None) -> NDArray[Any]:
    """Read an image: (H, W) or (H, W, B), upright as its EXIF orientation says.

    TIFF, OME-Zarr and Zarr arrays with names of dimensions say what their axes are; a stack of planes is then
    refused unless ``variable`` says how to take it. Other arrays of three axes are (H, W, B).

    Parameters
    ----------
    path : str or Path
        PNG, JPEG, JPEG 2000, WebP, BMP, GIF or PPM; TIFF, whose channels become bands; NPY, NPZ or MAT cubes
        (H, W, B); Zarr and OME-Zarr folders; ENVI (the header ``.hdr`` or the data file beside it).
    variable : str, optional
        The name of the array in an NPZ or MAT file; by default the only array that can be an image. Of a
        stack (depths, times, pages) in a TIFF, NPY or Zarr file the number of the plane, from 0; or "volume"
        for all planes as a volume, "frames" for all planes as images of a series, "bands" for all planes as
        bands. The planes of an array without names of axes are along the first one.

    Returns
    -------
    ndarray
        The pixels, in the type of the file. Pixels of a TIFF file that the tag GDAL_NODATA declares empty are
        NaN, in an array of floats. Colours with an opacity are multiplied by it.

    See Also
    --------
    read_marks : Reads the marks that belong to an image.
    segment : Takes an image and its marks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from phaselabel import read_image
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "cube.npy")
    ...     np.save(path, np.zeros((4, 5, 30), np.uint16))
    ...     read_image(path).shape
    (4, 5, 30)
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if is_zarr(path):
        with one_sentence_errors(path):
            return _read_zarr(path, variable)
    refuse_folder(path, "images")
    if not path.is_file():
        raise FileNotFoundError(2, "There is no such file", str(path))
    with one_sentence_errors(path):
        if suffix in TIFF_SUFFIXES:
            return read_tiff(path, variable)
        if suffix in NUMPY_SUFFIXES:
            return read_numpy(path, variable)
        if suffix in MATLAB_SUFFIXES:
            return read_matlab(path, variable)
        check_one_plane(variable)
        if suffix in ENVI_SUFFIXES and _envi_header(path):
            return _read_envi(path)
        return _read_picture(path)


def refuse_folder(path: Path, what: str) -> None:
    """Refuse a folder where one file is read."""
    if path.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder; name one file of {what}, or learn from a folder of marks with phaselabel "
            "segment --train."
        )


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder that is called ``.zarr``, or one inside it."""
    return path.is_dir() and any(one.suffix.lower() in ZARR_SUFFIXES for one in (path, *path.parents))


def _read_picture(path: Path) -> NDArray[Any]:
    (ops,) = import_pillow("PIL.ImageOps")
    with open_picture(path) as picture:
        picture = ops.exif_transpose(picture)
        if picture.mode == "PA" or ("transparency" in picture.info and picture.mode in ("P", "RGB")):
            picture = picture.convert("RGBA")
        elif "transparency" in picture.info and picture.mode in ("1", "L"):
            picture = picture.convert("LA")
        elif picture.mode in ("P", "CMYK", "YCbCr", "LAB", "HSV"):
            picture = picture.convert("RGB")
        pixels = np.asarray(picture)
    if picture.mode in ("RGBA", "LA"):
        pixels = multiplied_by_opacity(pixels)
    return pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels


def _read_zarr(path: Path, variable: str | None) -> NDArray[Any]:
    """The array of a Zarr folder; the finest one of an OME-Zarr image, its axes as its metadata name them."""
    try:
        import zarr
    except ImportError:
        raise ImportError("zarr is needed for Zarr: pip install zarr.") from None
    opened: Any = zarr.open(str(path), mode="r")
    if hasattr(opened, "shape"):
        names = _dimension_names(opened)
    else:
        attributes = dict(opened.attrs)
        scales = (attributes.get("ome") or attributes).get("multiscales")
        if not scales:
            raise Refusal("it is a group without an OME-Zarr image; name the folder of one array")
        axes = scales[0].get("axes", "tczyx")  # the first versions of OME-Zarr have these axes and no names
        names = [axis if isinstance(axis, str) else axis["name"] for axis in axes]
        opened = opened[scales[0]["datasets"][0]["path"]]
    check_values(int(np.prod(opened.shape)))
    letters = axis_letters(names)
    if letters and len(letters) != len(opened.shape):
        raise Refusal(f"it has {len(opened.shape)} axes and {len(letters)} names of axes; take another copy")
    return by_axes(np.asarray(opened[...]), letters, variable)


def _dimension_names(array: Any) -> list[Any]:
    """The names of the dimensions of a Zarr array: those of version 3, or of xarray; empty without any."""
    names = getattr(getattr(array, "metadata", None), "dimension_names", None)
    return list(names or dict(array.attrs).get("_ARRAY_DIMENSIONS") or ())


def _envi_header(path: Path) -> Path | None:
    for header in (path.with_suffix(".hdr"), Path(f"{path}.hdr")):
        if header.is_file():
            return header
    return None


def _read_envi(path: Path) -> NDArray[Any]:
    try:
        from spectral.io import envi
    except ImportError:
        raise ImportError('spectral is needed for ENVI: pip install "phaselabel[images]".') from None
    data = None if path.suffix.lower() == ".hdr" else str(path)
    cube = envi.open(str(_envi_header(path)), data)
    check_values(cube.nrows * cube.ncols * cube.nbands)
    return np.array(cube.open_memmap(interleave="bip"))
