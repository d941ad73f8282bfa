import numpy as np
import pytest
from PIL import Image

from phaselabel.segmentation.image_files import read_image


@pytest.fixture
def colours():
    return np.random.default_rng(0).integers(0, 256, (12, 17, 3)).astype(np.uint8)


def test_png_and_modes(tmp_path, colours):
    Image.fromarray(colours).save(tmp_path / "a.png")
    assert (read_image(tmp_path / "a.png") == colours).all()
    Image.fromarray(colours[..., 0]).save(tmp_path / "grey.png")
    assert read_image(tmp_path / "grey.png").shape == (12, 17)
    deep = colours[..., 0].astype(np.uint16) * 200
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert (read_image(tmp_path / "deep.png") == deep).all()
    Image.fromarray(colours).convert("P").save(tmp_path / "palette.png")
    assert read_image(tmp_path / "palette.png").shape == (12, 17, 3)


def test_hidden_colours_do_not_count(tmp_path, colours):
    alpha = np.full((12, 17, 1), 255, np.uint8)
    Image.fromarray(np.dstack([colours, alpha])).save(tmp_path / "opaque.png")
    assert (read_image(tmp_path / "opaque.png") == colours).all()
    alpha[:6] = 0
    Image.fromarray(np.dstack([colours, alpha])).save(tmp_path / "half.png")
    assert (read_image(tmp_path / "half.png")[:6] == 0).all()


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("multiplied", [False, True])
def test_opacity_is_the_same_in_png_and_tiff(tmp_path, colours, channels, multiplied):
    tifffile = pytest.importorskip("tifffile")
    alpha = np.random.default_rng(1).choice([0, 100, 255], (12, 17, 1)).astype(np.uint8)
    picture = np.concatenate([colours[:, :, : channels - 1], alpha], axis=2)
    Image.fromarray(picture).save(tmp_path / "a.png")
    seen = read_image(tmp_path / "a.png")
    assert seen.shape == (12, 17, channels)
    photometric = "rgb" if channels == 4 else "minisblack"
    kind = "assocalpha" if multiplied else "unassalpha"
    stored = seen if multiplied else picture
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric=photometric, extrasamples=[kind])
    assert (read_image(tmp_path / "a.tif") == seen).all()
    picture[:, :, -1] = 255
    Image.fromarray(picture).save(tmp_path / "opaque.png")
    tifffile.imwrite(tmp_path / "opaque.tif", picture, photometric=photometric, extrasamples=[kind])
    assert (read_image(tmp_path / "opaque.tif") == read_image(tmp_path / "opaque.png")).all()


@pytest.mark.parametrize("mode", ["P", "L", "RGB"])
def test_a_transparent_colour_does_not_count(tmp_path, colours, mode):
    picture = Image.fromarray(colours).convert(mode)
    transparent = (1, 2, 3) if mode == "RGB" else 7
    picture.paste(transparent, (0, 0, 17, 6))
    picture.save(tmp_path / "a.png", transparency=transparent)
    seen = read_image(tmp_path / "a.png")
    assert (seen[:6] == 0).all()
    assert (seen[6:, :, -1] == 255).mean() > 0.9


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_respected(tmp_path, colours, orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[274] = orientation
    Image.fromarray(colours).save(tmp_path / "turned.png", exif=exif)
    with Image.open(tmp_path / "turned.png") as picture:
        upright = np.asarray(ImageOps.exif_transpose(picture))
    assert (read_image(tmp_path / "turned.png") == upright).all()
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "turned.tif", colours, extratags=[(274, 3, 1, orientation, True)])
    assert (read_image(tmp_path / "turned.tif") == upright).all()


def test_numpy_matlab_and_envi_cubes(tmp_path):
    from scipy.io import savemat

    cube = np.random.default_rng(0).integers(0, 9000, (6, 5, 11)).astype(np.int16)
    np.save(tmp_path / "cube.npy", cube)
    np.savez(tmp_path / "cube.npz", cube=cube, truth=np.zeros((6, 5)))
    savemat(tmp_path / "cube.mat", {"pines": cube})
    for name in ("cube.npy", "cube.npz", "cube.mat"):
        assert (read_image(tmp_path / name) == cube).all()
    assert read_image(tmp_path / "cube.npz", "truth").shape == (6, 5)
    with pytest.raises(ValueError, match="no array 'other'"):
        read_image(tmp_path / "cube.npz", "other")
    envi = pytest.importorskip("spectral.io.envi")
    for interleave in ("bip", "bil", "bsq"):
        envi.save_image(str(tmp_path / f"{interleave}.hdr"), cube, interleave=interleave, ext=".img")
        assert (read_image(tmp_path / f"{interleave}.hdr") == cube).all()
        assert (read_image(tmp_path / f"{interleave}.img") == cube).all()
        for suffix in (".dat", ".raw", f".{interleave}", ""):
            data = (tmp_path / f"{interleave}.img").rename(tmp_path / f"{interleave}{suffix}")
            assert (read_image(data) == cube).all()
            assert (read_image(tmp_path / f"{interleave}.hdr") == cube).all()
            data.rename(tmp_path / f"{interleave}.img")
    with pytest.raises(ValueError, match="Is it complete, and an image"):
        read_image((tmp_path / "bsq.img").rename(tmp_path / "no_header.bsq"))


def test_no_pickles(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"evil.npy can't be read"):
        read_image(tmp_path / "evil.npy")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".npy", ".mat", ".bmp"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.6])
def test_truncated_files_end_in_a_sentence(tmp_path, colours, suffix, share):
    path = tmp_path / f"whole{suffix}"
    if suffix == ".npy":
        np.save(path, colours)
    elif suffix == ".mat":
        from scipy.io import savemat

        savemat(path, {"a": colours})
    elif suffix == ".tif":
        pytest.importorskip("tifffile").imwrite(path, colours)
    else:
        Image.fromarray(colours).save(path)
    data = path.read_bytes()
    broken = tmp_path / f"broken{suffix}"
    broken.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=rf"broken{suffix} can't be read"):
        read_image(broken)


def test_nonsense_files(tmp_path):
    (tmp_path / "text.png").write_text("this is not a picture")
    with pytest.raises(ValueError, match=r"text.png can't be read"):
        read_image(tmp_path / "text.png")
    with pytest.raises(FileNotFoundError):
        read_image(tmp_path / "absent.png")


def test_decompression_bombs_are_refused(tmp_path, monkeypatch, colours):
    Image.fromarray(np.zeros((60, 60), np.uint8)).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(ValueError, match="decompression bomb"):
        read_image(tmp_path / "bomb.png")
    monkeypatch.setattr("phaselabel.segmentation.limits.MAX_VALUES", 100)
    np.save(tmp_path / "large.npy", colours)
    with pytest.raises(ValueError, match="more than 100"):
        read_image(tmp_path / "large.npy")


@pytest.mark.parametrize("wrapped", [False, True])
def test_zarr_and_ome_zarr(tmp_path, wrapped):
    zarr = pytest.importorskip("zarr")
    pixels = np.random.default_rng(0).integers(0, 99, (2, 6, 7)).astype(np.uint16)
    group = zarr.open_group(str(tmp_path / "image.zarr"), mode="w")
    group["0"] = pixels
    scales = {"axes": [{"name": "c"}, {"name": "y"}, {"name": "x"}], "datasets": [{"path": "0"}]}
    group.attrs["ome" if wrapped else "multiscales"] = {"multiscales": [scales]} if wrapped else [scales]
    read = read_image(tmp_path / "image.zarr")
    assert (read == np.moveaxis(pixels, 0, -1)).all()  # channels are bands
    empty = zarr.open_group(str(tmp_path / "empty.zarr"), mode="w")
    assert empty is not None
    with pytest.raises(ValueError, match="without an OME-Zarr image"):
        read_image(tmp_path / "empty.zarr")


def write_ome_zarr(path, pixels, axes):
    group = pytest.importorskip("zarr").open_group(str(path), mode="w")
    group["0"] = pixels
    scale = {"datasets": [{"path": "0"}]} | ({} if axes is None else {"axes": axes})
    group.attrs["multiscales"] = [scale]


@pytest.mark.parametrize(
    ("shape", "axes", "names"),
    [
        ((7, 12, 17), [{"name": name} for name in "zyx"], "depths"),
        ((7, 12, 17), ["t", "y", "x"], "times"),  # as version 0.3 has them
        ((1, 1, 7, 12, 17), None, "depths and times"),  # as versions 0.1 and 0.2 have them
    ],
)
def test_an_ome_zarr_stack_is_not_taken_for_bands(tmp_path, shape, axes, names):
    stack = np.random.default_rng(0).integers(0, 99, shape).astype(np.uint16)
    write_ome_zarr(tmp_path / "stack.zarr", stack, axes)
    planes = stack.reshape(shape[-3:])
    with pytest.raises(ValueError, match=rf"stack of 7 planes \({names}.*'frames'"):
        read_image(tmp_path / "stack.zarr")
    assert (read_image(tmp_path / "stack.zarr", "3") == planes[3]).all()
    assert (read_image(tmp_path / "stack.zarr", "volume") == planes).all()
    assert (read_image(tmp_path / "stack.zarr", "bands") == np.moveaxis(planes, 0, 2)).all()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("dimensions", "expected"),
    [
        (("z", "y", "x"), "depths"),
        (("time", "lat", "lon"), "times"),
        (("band", "y", "x"), (6, 7, 5)),
        (("y", "x", "wavelength"), (5, 6, 7)),
        (("dim_0", "dim_1", "dim_2"), (5, 6, 7)),
        (None, (5, 6, 7)),
        (("depth", "pressure", "x"), "called depth, pressure, x"),
    ],
)
def test_dimension_names_of_a_zarr_array_say_what_its_axes_are(tmp_path, version, dimensions, expected):
    zarr = pytest.importorskip("zarr", minversion="3")
    pixels = np.random.default_rng(0).integers(0, 99, (5, 6, 7)).astype(np.uint16)
    named = {"dimension_names": dimensions} if version == 3 else {}
    path = tmp_path / "stack.zarr"
    array = zarr.create_array(str(path), shape=(5, 6, 7), dtype="uint16", zarr_format=version, **named)
    array[...] = pixels
    if version == 2 and dimensions:
        array.attrs["_ARRAY_DIMENSIONS"] = list(dimensions)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read_image(path)
    else:
        assert read_image(path).shape == expected


def test_one_array_of_a_zarr_group(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(str(tmp_path / "several.zarr"), mode="w")["red"] = np.arange(12).reshape(3, 4)
    with pytest.raises(ValueError, match="name the folder of one array"):
        read_image(tmp_path / "several.zarr")
    assert read_image(tmp_path / "several.zarr" / "red").shape == (3, 4)


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_planes_of_an_array_without_names_are_along_its_first_axis(tmp_path, suffix):
    stack = np.random.default_rng(0).integers(0, 99, (5, 6, 7)).astype(np.uint16)
    path = tmp_path / f"stack{suffix}"
    np.save(path, stack) if suffix == ".npy" else pytest.importorskip("zarr").save(str(path), stack)
    assert (read_image(path) == stack).all()  # (H, W, B)
    assert (read_image(path, "volume") == stack).all()
    assert (read_image(path, "frames") == stack).all()
    assert (read_image(path, "3") == stack[3]).all()
    assert (read_image(path, "bands") == np.moveaxis(stack, 0, 2)).all()
    with pytest.raises(ValueError, match=r"stack of 5 planes.*got '5'"):
        read_image(path, "5")


@pytest.mark.parametrize("word", ["1", "volume", "frames", "cube"])
def test_a_picture_has_one_plane(tmp_path, colours, word):
    Image.fromarray(colours).save(tmp_path / "a.png")
    assert (read_image(tmp_path / "a.png", "0") == colours).all()
    with pytest.raises(ValueError, match=f"it has one plane, number 0; got variable='{word}'"):
        read_image(tmp_path / "a.png", word)
