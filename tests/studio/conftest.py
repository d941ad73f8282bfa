import numpy as np
import pytest

from phaselabel.studio.answering import AnsweringWorkspace
from phaselabel.studio.drawing import DrawingWorkspace
from phaselabel.studio.items import read_items
from phaselabel.studio.project import Project


@pytest.fixture
def answering(tmp_path):
    """Open items for answering, without a server."""

    def open_items(items, classes=(), name="p", **options):
        project = Project(tmp_path / f"{name}.studio", {})
        workspace = AnsweringWorkspace(items, project, classes=classes, **options)
        workspace.prepare()
        return workspace

    return open_items


@pytest.fixture
def digits_workspace(digit_file, answering):
    return answering(read_items(digit_file), list("0123456789"))


@pytest.fixture
def square(tmp_path):
    """A noisy picture with a bright square, opened for drawing without a server."""
    rng = np.random.default_rng(0)
    image = rng.normal(60, 8, (40, 50, 3))
    image[10:30, 10:25] += 120
    project = Project(tmp_path / "p.studio", {})
    return DrawingWorkspace(np.clip(image, 0, 255).astype(np.uint8), "p.png", project)
