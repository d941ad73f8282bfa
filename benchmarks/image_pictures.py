"""The pictures of the image benchmarks, each with its truth; and marks drawn from a truth at random.

Cows and Indian Pines are found through PHASELABEL_DATA; the others come with scikit-learn and scikit-image.
"""

import os
from pathlib import Path

import numpy as np

import phaselabel as pl

MARKS = Path(__file__).parent / "marks"

#: Strokes need room: smaller classes are not judged.
LEAST_MEMBERS = 300


def load_cows():
    """The picture, the truth and the strokes' classes, all numbered from 1 in the order of the names."""
    image, truth, names = pl.datasets.load_cows()
    strokes = pl.read_marks(MARKS / "cows.json", truth.shape)
    number = {name: k for k, name in enumerate(names, 1)}
    table = np.zeros(max(strokes.classes) + 1, int)
    for n, name in strokes.classes.items():
        table[n] = number[name]
    return image, truth + 1, table[strokes.labels], names


def region(shape, polygons):
    """Polygons (class, corners) as a label image, 0 elsewhere."""
    from PIL import Image, ImageDraw

    canvas = Image.new("L", (shape[1], shape[0]), 0)
    for number, corners in polygons:
        ImageDraw.Draw(canvas).polygon(corners, fill=number)
    return np.array(canvas).astype(int)


def reduced(image, truth, factor):
    """Picture and truth at a fraction of their size, so that no method has to reduce them."""
    height, width = (side // factor * factor for side in image.shape[:2])
    blocks = image[:height, :width].reshape(height // factor, factor, width // factor, factor, -1)
    small = blocks.mean(axis=(1, 3)).round().astype(np.uint8)
    middle = slice(factor // 2, None, factor)
    truth = truth[:height, :width][middle, middle]
    return (small[:, :, 0] if image.ndim == 2 else small), truth


def photograph(name):
    """A photograph of scikit-learn, judged inside hand-drawn polygons."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image(f"{name}.jpg")
    return reduced(image, pl.read_marks(MARKS / f"{name}_check.json", image.shape[:2]).labels, 3)


def camera():
    """scikit-image's cameraman: person, sky, grass, judged inside polygons."""
    from skimage import data

    coat = [(60, 200), (130, 130), (170, 150), (165, 200), (180, 230), (200, 270), (180, 300), (140, 360)]
    polygons = [
        (1, [*coat, (60, 370), (20, 340), (20, 260)]),
        (1, [(180, 85), (220, 75), (255, 90), (255, 115), (200, 110), (175, 130)]),
        (2, [(10, 10), (500, 10), (500, 110), (300, 110), (280, 60), (160, 50), (120, 90), (10, 170)]),
        (3, [(330, 260), (500, 260), (500, 500), (430, 500), (330, 330)]),
        (3, [(170, 370), (260, 340), (230, 460), (160, 500), (150, 430)]),
    ]
    image = data.camera()
    return reduced(image, region(image.shape, polygons), 3)


def coffee():
    """scikit-image's cup and saucer on a table of nearly their colour; a rim is not judged."""
    from skimage import data

    image = data.coffee()
    y, x = np.mgrid[:400, :600]

    def ellipse(cx, cy, a, b):
        return ((x - cx) / a) ** 2 + ((y - cy) / b) ** 2 < 1

    inside = ellipse(278, 215, 190, 160) | ellipse(290, 112, 104, 84)
    outside = ~(ellipse(278, 215, 212, 185) | ellipse(290, 112, 120, 100))
    outside &= ~((x > 395) & (x < 430) & (y < 150))  # the spoon
    return reduced(image, np.where(inside, 1, np.where(outside, 2, 0)), 3)


def mosaic(seed=0):
    """Brick, grass and gravel of scikit-image side by side, with wavy borders."""
    from skimage import data

    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:256, :384]
    wave = x + 18 * np.sin(y / 30) + 10 * np.sin(y / 11 + 2)
    truth = 1 + (wave > 128).astype(int) + (wave > 256)
    image = np.zeros(truth.shape, np.uint8)
    for k, texture in enumerate((data.brick(), data.grass(), data.gravel()), 1):
        top, left = rng.integers(0, 512 - 256), rng.integers(0, 512 - 384)
        image[truth == k] = texture[top : top + 256, left : left + 384][truth == k]
    return image, truth


def cow_picture():
    """The cows, every pixel judged."""
    image, truth, _, _ = load_cows()
    return image, truth


def patchwork():
    """Six cells of four grey textures of scikit-image: brick, grass, gravel and the moon."""
    from skimage import data

    seeds = np.array([(40, 40), (30, 130), (60, 215), (130, 50), (150, 140), (140, 225)])
    y, x = np.mgrid[:180, :250]
    x = x + 6 * np.sin(y / 13)
    cell = ((y[..., None] - seeds[:, 0]) ** 2 + (x[..., None] - seeds[:, 1]) ** 2).argmin(axis=-1)
    truth = np.array([1, 2, 3, 4, 1, 2])[cell]
    crops = {
        1: (data.brick(), 150, 40),
        2: (data.grass(), 60, 200),
        3: (data.gravel(), 250, 90),
        4: (data.moon(), 250, 200),
    }
    image = np.zeros(truth.shape, np.uint8)
    for number, (texture, top, left) in crops.items():
        image[truth == number] = texture[top : top + 180, left : left + 250][truth == number]
    return image, truth


def horse():
    """scikit-image's horse, cut from the fur of its cat, on its coffee table: a shape known exactly."""
    from skimage import data

    inside = ~data.horse()[::2, ::2].astype(bool)
    height, width = inside.shape
    fur = data.chelsea()[130 : 130 + height, 240 : 240 + width]
    wood = data.coffee()[:height, 400:][:, :width]
    ground = np.concatenate([wood, wood[:, ::-1]], axis=1)[:, :width]
    image = np.where(inside[..., None], fur, ground)
    return image.astype(np.uint8), np.where(inside, 1, 2)


def phantom():
    """The Shepp and Logan phantom with noise, its levels as classes; small ones are not judged."""
    from skimage import data

    levels = data.shepp_logan_phantom()[::2, ::2]
    values, truth = np.unique(np.round(levels, 1), return_inverse=True)
    truth = truth.reshape(levels.shape) + 1
    noise = np.random.default_rng(0).normal(0, 0.06, levels.shape)
    image = np.clip(255 * (0.15 + 0.7 * levels / values.max() + noise), 0, 255).astype(np.uint8)
    return image, roomy(truth)


def pines_in_colour():
    """Indian Pines as a picture: three of its bands, its larger classes."""
    cube, truth = indian_pines()
    bands = cube[..., [28, 18, 8]].astype(float)
    low, high = np.percentile(bands, [1, 99], axis=(0, 1))
    image = np.clip(255 * (bands - low) / (high - low), 0, 255).astype(np.uint8)
    return image, roomy(truth)


def indian_pines():
    """The cube of 200 bands, and the truth; 0 where it is not known."""
    data = np.load(Path(os.environ["PHASELABEL_DATA"]) / "indian_pines.npz", allow_pickle=False)
    return data["cube"], data["gt"].astype(int)


def roomy(truth):
    """The truth without classes of fewer than ``LEAST_MEMBERS`` pixels, the others numbered from 1.

    scikit-image's random walker numbers its answer like that, whatever the marks.
    """
    counts = np.bincount(truth.ravel())
    counts[0] = 0
    kept = counts >= LEAST_MEMBERS
    return np.where(kept, np.cumsum(kept), 0)[truth]


PICTURES = {
    "patchwork": patchwork,
    "horse": horse,
    "phantom": phantom,
    "pines in colour": pines_in_colour,
    "cows": cow_picture,
    "coffee": coffee,
    "camera": camera,
    "flower": lambda: photograph("flower"),
    "china": lambda: photograph("china"),
    "mosaic": mosaic,
}


def random_stroke(truth, number, rng):
    """A straight line of 10 to 40 pixels that stays in its class."""
    rows, columns = np.nonzero(truth == number)
    while True:
        start = rng.integers(len(rows))
        x, y, turn, length = columns[start], rows[start], rng.uniform(0, 2 * np.pi), rng.uniform(10, 40)
        end = x + length * np.cos(turn), y + length * np.sin(turn)
        if 0 <= end[0] < truth.shape[1] and 0 <= end[1] < truth.shape[0]:
            marks = pl.Marks.from_strokes([(number, [(x, y), end])], truth.shape)
            if (truth[marks.labels > 0] == number).all():
                return marks


def random_pixels(truth, share, seed):
    """A share of the pixels at random, at least one of every class."""
    rng = np.random.default_rng(seed)
    flat, marks = truth.ravel(), np.zeros(truth.size, int)
    chosen = rng.choice(np.flatnonzero(flat), round(share * truth.size), replace=False)
    marks[chosen] = flat[chosen]
    for k in np.unique(flat[flat > 0]):
        if not (marks == k).any():
            marks[rng.choice(np.flatnonzero(flat == k))] = k
    return marks.reshape(truth.shape)


def random_strokes(truth, n, seed):
    """``n`` random strokes in every class."""
    rng = np.random.default_rng(seed)
    marks = np.zeros(truth.shape, int)
    for k in np.unique(truth[truth > 0]):
        for _ in range(n):
            marks[random_stroke(truth, k, rng).labels > 0] = k
    return marks


MARKINGS = {
    "0.1 %": lambda truth, seed: random_pixels(truth, 0.001, seed),
    "0.5 %": lambda truth, seed: random_pixels(truth, 0.005, seed),
    "2.6 %": lambda truth, seed: random_pixels(truth, 0.026, seed),
    "1 stroke": lambda truth, seed: random_strokes(truth, 1, seed),
    "3 strokes": lambda truth, seed: random_strokes(truth, 3, seed),
}
