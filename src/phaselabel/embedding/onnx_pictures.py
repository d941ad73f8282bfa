"""Pictures as arrays in, vectors of length 1 out, by a vision model in an ONNX file."""

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
        An ONNX file with one input, (n, 3, height, width). ``preprocessor_config.json`` beside it may
        hold ``image_mean`` and ``image_std``.

    Attributes
    ----------
    digest : str
        Names the weights.
    side : int
        Pixels a side of the pictures that the model takes.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ValueError(f"There is no ONNX file {path}; pictures are embedded by a file that you name.")
        self._session = onnx_session(path)
        inputs = self._session.get_inputs()
        shape = inputs[0].shape
        if len(inputs) != 1 or len(shape) != 4 or shape[1] != 3 or inputs[0].type != "tensor(float)":
            raise ValueError(
                f"{path.name} is not a model for pictures: it must have one input of floats of shape "
                f"(n, 3, height, width), and it has {[entry.shape for entry in inputs]}."
            )
        self._input = inputs[0].name
        self.side = shape[2] if isinstance(shape[2], int) else SIDE
        config = path.with_name("preprocessor_config.json")
        said: dict[str, Any] = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
        self._mean = np.array(said.get("image_mean", MEAN), np.float32)
        self._deviation = np.array(said.get("image_std", DEVIATION), np.float32)
        self.digest = digest_of(path)

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
