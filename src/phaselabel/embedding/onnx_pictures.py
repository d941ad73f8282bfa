"""Pictures as arrays in, vectors of length 1 out, by a vision model in an ONNX file."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.embedding.models import digest_of
from phaselabel.embedding.texts import onnx_session

#: Mean and deviation of red, green and blue that most vision models expect, those of ImageNet.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: Pixels a side, where a model takes any number.
SIDE = 224


class PictureModel:
    """A vision model.

    Parameters
    ----------
    path : Path
        An ONNX file with one input, (n, 3, height, width). ``preprocessor_config.json`` beside it, or
        above the folder ``onnx``, may hold ``image_mean``, ``image_std`` and ``crop_size``.

    Attributes
    ----------
    digest : str
        Names the weights and how pictures are prepared; vectors of another digest can't be compared.
    side : int
        Pixels a side of the pictures that the model takes.
    """

    def __init__(self, path: Path) -> None:
        self._session = onnx_session(path)
        inputs = self._session.get_inputs()
        shape = inputs[0].shape
        # Exported models often leave the number of channels open: its place then holds a name.
        takes_colours = len(shape) == 4 and (shape[1] == 3 or not isinstance(shape[1], int))
        if len(inputs) != 1 or not takes_colours or inputs[0].type != "tensor(float)":
            raise ValueError(
                f"{path.name} is not a model for pictures: it must have one input of floats of shape "
                f"(n, 3, height, width), and it has {[entry.shape for entry in inputs]}."
            )
        self._input = inputs[0].name
        said = _preparation(path)
        crop = said.get("crop_size")
        side = crop.get("height") if isinstance(crop, dict) else crop
        self.side = next((n for n in (shape[2], side) if isinstance(n, int) and n > 0), SIDE)
        self._mean = np.array(said.get("image_mean", MEAN), np.float32)
        self._deviation = np.array(said.get("image_std", DEVIATION), np.float32)
        if self._mean.shape != (3,) or self._deviation.shape != (3,) or not (self._deviation > 0).all():
            raise ValueError(
                f"image_mean and image_std of {path.name} must have three numbers each, those of image_std "
                "above 0; correct preprocessor_config.json."
            )
        prepared = f"{digest_of(path)} {self.side} {self._mean.tolist()} {self._deviation.tolist()}"
        self.digest = hashlib.sha256(prepared.encode()).hexdigest()[:32]

    def vector(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The vector of one picture of shape (side, side, 3), of length 1."""
        scaled = (pixels.astype(np.float32) / 255 - self._mean) / self._deviation
        answer = self._session.run(None, {self._input: scaled.transpose(2, 0, 1)[None]})[0]
        row = np.asarray(answer[0], np.float32)
        if row.ndim == 3:  # (features, height, width), before the pooling of a convolutional network
            row = row.mean(axis=(1, 2))
        elif row.ndim == 2:  # (patches, features) of a transformer
            row = row.mean(axis=0)
        return np.asarray(row / max(float(np.linalg.norm(row)), 1e-12), np.float32)


def _preparation(path: Path) -> dict[str, Any]:
    """What ``preprocessor_config.json`` says of the pictures that a model takes."""
    above = [path.parent.parent] if path.parent.name == "onnx" else []
    for folder in (path.parent, *above):
        config = folder / "preprocessor_config.json"
        if config.is_file():
            try:
                said = json.loads(config.read_text(encoding="utf-8"))
            except ValueError:
                said = None
            if not isinstance(said, dict):
                raise ValueError(f"{config} can't be read as JSON; copy it again, or take it away.")
            return said
    return {}
