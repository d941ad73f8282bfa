import numpy as np
import pytest

from phaselabel.datasets import (
    cache_folder,
    load_coil,
    load_cows,
    load_mnist,
    make_swiss_roll,
    make_three_moons,
    make_two_moons,
    sample_labels,
)


def test_three_moons_follow_the_recipe():
    X, y = make_three_moons(400, noise=0.0, random_state=0)
    assert X.shape == (1200, 100)
    assert np.bincount(y).tolist() == [400, 400, 400]
    for k, (centre, radius) in enumerate([((0, 0), 1), ((3, 0), 1), ((1.5, 0.4), 1.5)]):
        np.testing.assert_allclose(np.hypot(*(X[y == k, :2] - centre).T), radius)
    assert (X[y < 2, 1] >= 0).all()
    assert (X[y == 2, 1] <= 0.4).all()
    noisy, _ = make_three_moons(400, random_state=0)
    assert noisy[:, 5].var() == pytest.approx(0.02, rel=0.15)


def test_same_seed_same_points():
    np.testing.assert_array_equal(
        make_three_moons(10, random_state=3)[0], make_three_moons(10, random_state=3)[0]
    )


def test_sample_labels_keeps_so_many_of_each():
    y = np.repeat([0, 4], [50, 30])
    labels = sample_labels(y, 7, random_state=0)
    assert np.unique(labels, return_counts=True)[1].tolist() == [66, 7, 7]
    assert (labels[labels >= 0] == y[labels >= 0]).all()
    with pytest.raises(ValueError, match="n_per_class"):
        sample_labels(y, 31)


def test_a_plane_is_needed():
    with pytest.raises(ValueError, match="dimension"):
        make_three_moons(dimension=1)


def test_two_moons_follow_the_recipe():
    X, y = make_two_moons(200, noise=0.0, random_state=0)
    assert X.shape == (400, 100)
    np.testing.assert_allclose(np.hypot(*X[y == 0, :2].T), 1)
    np.testing.assert_allclose(np.hypot(*(X[y == 1, :2] - (1, 0.5)).T), 1)
    assert (X[y == 0, 1] >= 0).all()
    assert (X[y == 1, 1] <= 0.5).all()


def test_swiss_roll_unrolls_to_four_gaussians():
    X, y = make_swiss_roll(400, random_state=0)
    assert X.shape == (1600, 3)
    x = np.hypot(X[:, 0], X[:, 2])
    for k, mean in enumerate([(7.5, 7.5), (7.5, 12.5), (12.5, 7.5), (12.5, 12.5)]):
        cloud = np.column_stack([x, X[:, 1]])[y == k]
        np.testing.assert_allclose(cloud.mean(axis=0), mean, atol=0.2)
        np.testing.assert_allclose(np.cov(cloud.T), np.eye(2), atol=0.25)
    np.testing.assert_allclose(X[:, 0], x * np.cos(x))


def test_sample_labels_by_fraction():
    y = np.repeat([0, 1], 100)
    labels = sample_labels(y, fraction=0.05, random_state=0)
    assert (labels >= 0).sum() == 10
    assert (labels[labels >= 0] == y[labels >= 0]).all()
    for wrong in ({"fraction": 0.0}, {"fraction": 1.5}, {}, {"n_per_class": 2, "fraction": 0.1}):
        with pytest.raises(ValueError, match="fraction"):
            sample_labels(y, **wrong)
    with pytest.raises(ValueError, match=r"one dimension; got an array of shape \(2, 3\)"):
        sample_labels([[0, 0, 1], [0, 1, 1]], 1)


def test_real_sets_are_the_ones_described(data_home):
    X, y = load_coil(data_home)
    assert X.shape == (1500, 241)
    assert np.bincount(y).tolist() == [250] * 6
    pixels, digits = load_mnist(data_home)
    assert pixels.shape == (70000, 784)
    assert np.bincount(digits).tolist()[:3] == [6903, 7877, 6990]
    image, labels, names = load_cows(data_home)
    assert image.shape == (213, 320, 3)
    assert np.bincount(labels.ravel()).tolist() == [13844, 43199, 4938, 6179]
    assert names[0] == "sky"


def test_places_are_searched_in_order(tmp_path, monkeypatch):
    def store(folder, value):
        folder.mkdir(parents=True)
        np.savez(folder / "sslbook_coil.npz", X=np.full((2, 3), value), y=np.array([0, 1]))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PHASELABEL_DATA", str(tmp_path / "variable"))
    store(cache_folder(), 3.0)
    assert load_coil()[0][0, 0] == 3
    store(tmp_path / "variable", 2.0)
    assert load_coil()[0][0, 0] == 2
    store(tmp_path / "given", 1.0)
    assert load_coil(tmp_path / "given")[0][0, 0] == 1


def test_a_wrong_file_is_named(tmp_path):
    np.savez(tmp_path / "cows_1_20.npz", picture=np.zeros(3))
    with pytest.raises(ValueError, match=r"cows_1_20\.npz has no array named 'img'"):
        load_cows(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_a_damaged_file_is_named(content, tmp_path):
    (tmp_path / "cows_1_20.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"cows_1_20\.npz is not the data set: .*; replace the file"):
        load_cows(tmp_path)


def test_a_missing_set_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.delenv("PHASELABEL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"put cows_1_20\.npz .* PHASELABEL_DATA"):
        load_cows()

    def offline(*words, **more):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    with pytest.raises(FileNotFoundError, match=r"put mnist70k\.npz .*no network"):
        load_mnist()
    assert list(tmp_path.rglob("*.npz")) == []


def test_fetched_digits_are_kept(tmp_path, monkeypatch):
    class Found:
        data = np.arange(8.0).reshape(2, 4)
        target = np.array(["3", "7"])

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.delenv("PHASELABEL_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *words, **more: Found)
    assert load_mnist()[1].tolist() == [3, 7]
    monkeypatch.setattr("sklearn.datasets.fetch_openml", None)
    assert load_mnist()[0].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [path.name for path in tmp_path.rglob("*.npz")] == ["mnist70k.npz"]


@pytest.mark.parametrize("n_per_class", [-1, 1.5, True, "2"])
def test_a_number_of_labels_that_makes_no_sense_is_refused(n_per_class):
    with pytest.raises(ValueError, match="n_per_class must be a whole number"):
        sample_labels([0, 0, 1, 1], n_per_class)


def test_sizes_and_noise_that_make_no_sense_are_refused():
    for make in (make_three_moons, make_two_moons, make_swiss_roll):
        for n in (-1, 1.5, True, "5", None):
            with pytest.raises(ValueError, match="n_per_class must be a whole number"):
                make(n)
    for noise in (-1.0, np.nan, np.inf, "a"):
        with pytest.raises(ValueError, match="noise must be a variance"):
            make_three_moons(3, noise=noise)
