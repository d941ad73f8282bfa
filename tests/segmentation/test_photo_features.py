import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image

from phaselabel.segmentation import photo_features as module
from phaselabel.segmentation.photo_features import photo_features, simple_features
from text_models import save_onnx, write_mean_model


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def stripes(turned=False, dark=0):
    pixels = np.full((64, 64, 3), dark, np.uint8)
    pixels[np.arange(64) % 8 < 4] = 255
    return pixels.swapaxes(0, 1) if turned else pixels


def test_directions_of_edges_tell_pictures_of_the_same_colours_apart():
    lying, standing = simple_features(stripes()), simple_features(stripes(turned=True))
    n_colours = module.LEVELS**3
    np.testing.assert_allclose(lying[:n_colours], standing[:n_colours])
    assert np.linalg.norm(lying - standing) > 1
    assert np.isfinite(simple_features(np.zeros((64, 64, 3), np.uint8))).all()


def test_a_picture_is_read_once_and_again_when_it_changes(home, monkeypatch):
    Image.fromarray(stripes()).save(home / "a.png")
    first, *_ = photo_features([home / "a.png"])
    monkeypatch.setattr(module, "simple_features", None)
    again, *_ = photo_features([home / "a.png"])
    np.testing.assert_array_equal(first, again)
    monkeypatch.undo()
    monkeypatch.setenv("PHASELABEL_CACHE", str(home / "cache"))
    Image.fromarray(stripes(turned=True)).save(home / "a.png")
    assert np.linalg.norm(photo_features([home / "a.png"])[0] - first) > 1


@pytest.mark.parametrize("form", ["transparent", "palette", "sixteen bits"])
def test_a_drawing_on_nothing_and_sixteen_bits_are_seen(home, form):
    drawn = stripes()[..., 0] == 0
    if form == "sixteen bits":  # twelve of them used, as microscopes do
        Image.fromarray(np.where(drawn, 300, 4000).astype(np.uint16)).save(home / "a.png")
    else:
        picture = Image.fromarray(np.dstack([*np.zeros((3, 64, 64)), 255 * drawn]).astype(np.uint8), "RGBA")
        (picture.quantize(4) if form == "palette" else picture).save(home / "a.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows, *_ = photo_features([home / "a.png"])
    np.testing.assert_allclose(rows[0], simple_features(stripes()), atol=0.02)


def test_files_that_are_no_pictures_are_named(home):
    Image.fromarray(stripes()).save(home / "a.png")
    (home / "b.png").write_text("no picture")
    rows, readable, refused = photo_features([home / "b.png", home / "a.png"])
    assert (len(rows), readable) == (1, [1])
    assert "b.png can't be read" in refused[0]
    with pytest.raises(ValueError, match="No picture can be read"):
        photo_features([home / "b.png"])


def test_an_onnx_model_sees_the_colours_scaled_as_it_expects(home):
    write_mean_model(home / "model.onnx")
    Image.new("RGB", (20, 30), (255, 0, 0)).save(home / "red.png")
    rows, *_ = photo_features([home / "red.png"], str(home / "model.onnx"))
    expected = (np.array([1, 0, 0]) - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(rows[0], expected / np.linalg.norm(expected), rtol=1e-5)
    # The picture has not changed, but how the model sees it has: nothing old is taken from the cache.
    (home / "preprocessor_config.json").write_text('{"image_mean": [0, 0, 0], "image_std": [1, 1, 1]}')
    rows, *_ = photo_features([home / "red.png"], str(home / "model.onnx"))
    np.testing.assert_allclose(rows[0], [1, 0, 0], atol=1e-4)


def test_a_model_as_the_public_hub_has_it(home):
    """All sizes are open in the file, and stand in a configuration above it."""
    (home / "eye" / "onnx").mkdir(parents=True)
    write_mean_model(home / "eye" / "onnx" / "model.onnx", ("n", "channels", "height", "width"))
    Image.new("RGB", (20, 30), (0, 255, 0)).save(home / "green.png")
    config = home / "eye" / "preprocessor_config.json"
    config.write_text('{"image_mean": [0, 0, 0], "crop_size": {"height": 6, "width": 6}}')
    model = module.PictureModel(module.find_picture_model(str(home / "eye")))
    assert model.side == 6
    rows, *_ = photo_features([home / "green.png"], str(home / "eye"))
    np.testing.assert_allclose(rows[0], [0, 1, 0], atol=1e-6)
    assert module.words_for("some/eye") == "vectors of eye"
    for wrong, sentence in (("{", "can't be read as JSON"), ('{"image_std": [1, 1]}', "three numbers")):
        config.write_text(wrong)
        with pytest.raises(ValueError, match=sentence):
            photo_features([home / "green.png"], str(home / "eye"))


def test_a_model_that_takes_no_pictures_is_refused(home):
    vectors, out = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("vectors", "out")
    )
    nodes = [helper.make_node("Identity", ["vectors"], ["out"])]
    save_onnx(home / "model.onnx", nodes, [vectors], [out], {})
    Image.fromarray(stripes()).save(home / "a.png")
    with pytest.raises(ValueError, match="not a model for pictures"):
        photo_features([home / "a.png"], str(home / "model.onnx"))
    with pytest.raises(ValueError, match="There is no ONNX file"):
        photo_features([home / "a.png"], "nowhere.onnx")
