"""A picture and marks in, the answers of other methods out: walker, watershed, pixel forest, graph cut."""

import numpy as np


def random_walker(image, marks, beta=130):
    """scikit-image's; 130 is its default of how much a difference in colour counts."""
    from skimage.segmentation import random_walker as walk

    return walk(image, marks, beta=beta, mode="cg_j", channel_axis=-1 if image.ndim == 3 else None)


def watershed(image, marks):
    """The peer: floods the slope of the brightness from the marks."""
    from skimage.color import rgb2gray
    from skimage.filters import sobel
    from skimage.segmentation import watershed as flood

    return flood(sobel(rgb2gray(image) if image.ndim == 3 else image / 255), marks)


class PixelForest:
    """The features and the forest of scikit-image's TrainableSegmenter."""

    def __init__(self, image):
        from skimage.feature import multiscale_basic_features

        axis = -1 if image.ndim == 3 else None
        self.features = multiscale_basic_features(image, sigma_max=16, channel_axis=axis)

    def probabilities(self, marks):
        """Class numbers, and the probability of each at every pixel."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(100, random_state=0).fit(self.features[marks > 0], marks[marks > 0])
        return forest.classes_, self.of(forest, self.features)

    @staticmethod
    def of(forest, features):
        """The probabilities of the pixels of any image."""
        return forest.predict_proba(features.reshape(-1, features.shape[-1])).reshape(*features.shape[:2], -1)


def graph_cut(image, marks, numbers, shares, smoothing=2.0):
    """Alpha expansion (Boykov, Veksler and Zabih) on the forest's probabilities, contrast-weighted."""
    import maxflow

    pixels = image.reshape(*image.shape[:2], -1) / 255
    costs = -np.log(shares + 0.01)
    for k, number in enumerate(numbers):
        costs[marks == number] = 1e3
        costs[marks == number, k] = 0
    pairs = [
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ]
    squares = [((pixels[a] - pixels[b]) ** 2).sum(axis=-1) for a, b in pairs]
    usual = 2 * np.mean(np.concatenate([square.ravel() for square in squares])) + 1e-12
    weights = [smoothing * np.exp(-square / usual) for square in squares]
    found = shares.argmax(axis=-1)
    for _ in range(2):
        for k in range(len(numbers)):
            graph = maxflow.Graph[float]()
            nodes = graph.add_grid_nodes(marks.shape)
            stay = np.take_along_axis(costs, found[..., None], axis=-1)[..., 0].ravel()
            move = costs[..., k].ravel().copy()
            for (a, b), weight in zip(pairs, weights):
                left, right, w = found[a].ravel(), found[b].ravel(), weight.ravel()
                both, second, first = w * (left != right), w * (left != k), w * (right != k)
                np.add.at(move, nodes[a].ravel(), first - both)
                np.add.at(move, nodes[b].ravel(), -first)
                capacity = second + first - both
                some = capacity > 1e-12
                graph.add_edges(
                    nodes[a].ravel()[some], nodes[b].ravel()[some], capacity[some], np.zeros(some.sum())
                )
            least = np.minimum(stay, move)
            graph.add_grid_tedges(
                nodes, (move - least).reshape(marks.shape), (stay - least).reshape(marks.shape)
            )
            graph.maxflow()
            found = np.where(graph.get_grid_segments(nodes), k, found)
    return numbers[found]
