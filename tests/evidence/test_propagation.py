"""Walks on a graph: they solve their equations, and say nothing where no label is."""

import numpy as np

import phaselabel as pl
from made import few_labels, random_graph
from phaselabel.evidence.propagation import DAMPING, DOUBT, carried, harmonic, poisson_odds, with_doubt
from phaselabel.few_labels.poisson import poisson
from phaselabel.few_labels.sharpen import sharpened


def test_harmonic_values_solve_their_equation():
    graph = random_graph(40, 1, density=0.4)
    labels = few_labels(40, 3, 0).astype(np.int32)
    said = harmonic(graph, labels, 3)
    free, d = (labels < 0) & (graph.degrees > 0), graph.degrees
    w = graph.weights.toarray()
    system = (1 + DAMPING) * np.diag(d[free]) - w[np.ix_(free, free)]
    known = labels >= 0
    u = np.linalg.solve(system, w[np.ix_(free, known)] @ np.eye(3)[labels[known]])
    expected = (u + DOUBT / 3) / (u.sum(axis=1, keepdims=True) + DOUBT)
    np.testing.assert_allclose(np.exp(said[free]), expected, atol=2e-3)


def test_the_order_of_the_vertices_in_memory_changes_nothing(monkeypatch):
    labels, said = few_labels(40, 3, 0).astype(np.int32), []
    for largest in (40, 0):
        monkeypatch.setattr("phaselabel.graph.graph.FITS_CACHE", largest)
        graph = random_graph(40, 1, density=0.4)
        assert (graph.layout[0] == np.arange(40)).all() == bool(largest)
        said.append([harmonic(graph, labels, 3), poisson(graph, labels, 3)])
    np.testing.assert_allclose(said[0], said[1], atol=1e-4)


def test_a_shorter_walk_gives_rows_far_from_labels_even_odds():
    path = np.diag(np.ones(59), 1)
    labels = np.full(60, -1, np.int32)
    labels[:2] = 0, 1
    graph = pl.Graph.from_weights(path + path.T)
    long, short = (np.exp(harmonic(graph, labels, 2, damping)) for damping in (1e-5, 0.03))
    assert long[40, 1] > 0.9
    np.testing.assert_allclose(short[40], 0.5, atol=0.02)


def test_a_part_without_a_label_gets_even_odds():
    graph = pl.Graph.from_weights(np.kron(np.eye(2), 1 - np.eye(4)))
    labels = np.array([0, 1, -1, -1, *[-1] * 4], np.int32)
    for said in (harmonic(graph, labels, 2), poisson_odds(poisson(sharpened(graph), labels, 2))):
        np.testing.assert_allclose(np.exp(said[4:]), 0.5, atol=1e-3)


def test_what_rows_say_is_carried_to_their_neighbours():
    path = np.diag(np.ones(4), 1)
    rows = np.zeros((5, 2), np.float32)
    rows[0] = 3, 0
    said = carried(pl.Graph.from_weights(path + path.T), np.full(5, -1, np.int32), rows)
    assert (said[:, 0] > said[:, 1]).all()


def test_doubt_makes_an_empty_row_even():
    np.testing.assert_allclose(np.exp(with_doubt(np.zeros((1, 4)))), 0.25)
