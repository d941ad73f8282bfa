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
