"""Slow, obvious twins of the kernels: loops over Python numbers, written from the paper."""

import itertools
import math

import numpy as np


def frac(x):
    return x - math.floor(x)


def label(u):
    return math.floor(u + 0.5)


def r_hat(u):
    return abs(0.5 - frac(u))


def rho(u, v):
    if label(u) == label(v):
        return abs(r_hat(u) - r_hat(v))
    return r_hat(u) + r_hat(v)


def r_hat_slope(u):
    return -1.0 if frac(u) < 0.5 else 1.0


def place(k, u):
    """The state of class k with the fractional part of u (the printed k + {u} is class k+1 above ½)."""
    return k + frac(u) - (frac(u) >= 0.5)


def algorithm_1(w_hat, labels, fidelity, u, epsilon, step, sweeps, n_classes):
    """Algorithm 1 in u, all vertices at once, with the fidelity taken implicitly on the tree."""
    n = len(u)
    u = [float(x) for x in u]
    for _ in range(sweeps):
        new = list(u)
        for i in range(n):
            slope = 0.0
            for j in range(n):
                if w_hat[i, j]:
                    sign = -1 if label(u[i]) == label(u[j]) else 1
                    slope += w_hat[i, j] * (r_hat(u[i]) + sign * r_hat(u[j])) * r_hat_slope(u[i])
            well = 2 * frac(u[i]) ** 3 - 3 * frac(u[i]) ** 2 + frac(u[i])
            move = -step * (epsilon * slope + well / epsilon)
            mu = fidelity if labels[i] >= 0 else 0.0
            if mu and label(u[i]) == labels[i]:
                new[i] = (u[i] + move + step * mu * labels[i]) / (1 + step * mu)
            elif mu:  # on a foreign arm the tree pulls towards the hub, μ (r + ½)
                move -= step * mu * (r_hat(u[i]) + 0.5) * r_hat_slope(u[i])
                new[i] = u[i] + move / (1 + step * mu)
            else:
                new[i] = u[i] + move
            if label(new[i]) != label(u[i]):
                costs = []
                for k in range(n_classes):
                    here = place(k, new[i])
                    cost = sum(
                        epsilon / 2 * w_hat[i, j] * rho(here, u[j]) ** 2 for j in range(n) if w_hat[i, j]
                    )
                    cost += mu / 2 * rho(here, float(labels[i])) ** 2 if mu else 0.0
                    costs.append(cost)
                new[i] = place(int(np.argmin(costs)), new[i])
        u = new
    return np.array(u)


def star(w_hat, labels, fidelity, arm, height, epsilon, sweeps, q=None, theta=0.0):
    """The same flow on the star, which also knows the hub (arm -1), with the automatic step and evidence.

    A vertex that passes the hub and chooses the same arm again stays at the hub.
    """
    n = len(arm)
    arm, height = list(arm), [float(r) for r in height]
    for _ in range(sweeps):
        new_arm, new_height = list(arm), list(height)
        for i in range(n):
            r = height[i]
            near = [j for j in range(n) if w_hat[i, j]]
            slope = epsilon * sum(
                w_hat[i, j] * (r - height[j] if arm[j] == arm[i] else r + height[j]) for j in near
            )
            slope -= 2 / epsilon * r * (0.25 - r**2)
            stiffness = epsilon * sum(w_hat[i]) + r * (1 + 2 * r) / epsilon
            if labels[i] >= 0:
                slope += fidelity * (r - 0.5 if arm[i] == labels[i] else r + 0.5)
                stiffness += fidelity
            if theta:
                slope += theta * (r + 0.5 - (q[i][arm[i]] if arm[i] >= 0 else 0.0))
                stiffness += theta
            if slope:
                r -= slope / stiffness
            r = 1 - r if r > 0.5 else r
            if r < 0:
                votes = {k: theta * q[i][k] / (2 * epsilon) for k in range(len(q[i]))} if theta else {}
                if labels[i] >= 0:
                    votes[labels[i]] = votes.get(labels[i], 0.0) + 0.5 * fidelity / epsilon
                for j in near:
                    if arm[j] >= 0:
                        votes[arm[j]] = votes.get(arm[j], 0.0) + w_hat[i, j] * height[j]
                new_arm[i] = max(votes, key=lambda k: votes[k])
                r = 0.0 if new_arm[i] == arm[i] else -r
            new_height[i] = r
        arm, height = new_arm, new_height
    return np.array(arm), np.array(height)


def energy(w_hat, labels, fidelity, u, epsilon, q=None, theta=0.0):
    """The four terms, pair by pair."""
    n = len(u)
    pairs = sum(w_hat[i, j] * rho(u[i], u[j]) ** 2 for i in range(n) for j in range(i))
    wells = sum(frac(x) ** 2 * (frac(x) - 1) ** 2 for x in u)
    known = sum(rho(u[i], float(labels[i])) ** 2 for i in range(n) if labels[i] >= 0)
    believed = (
        sum(q[i][k] * rho(u[i], float(k)) ** 2 for i in range(n) for k in range(len(q[i]))) if theta else 0
    )
    return epsilon / 2 * pairs, wells / (2 * epsilon), fidelity / 2 * known, theta / 2 * believed


def knn(X, k):
    """Sort all other rows by distance, then by number."""
    indices = []
    for i in range(len(X)):
        others = sorted((float(np.linalg.norm(X[i] - X[j])), j) for j in range(len(X)) if j != i)
        indices.append([j for _, j in others[:k]])
    return np.array(indices)


def weights(X, k, m):
    """Local scaling with "or" symmetry, entry by entry; assumes no duplicates."""
    near = knn(X, k)
    tau = [float(np.linalg.norm(X[i] - X[near[i][m - 1]])) for i in range(len(X))]
    w = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(len(X)):
            if j in near[i] or i in near[j]:
                w[i, j] = math.exp(-float(np.sum((X[i] - X[j]) ** 2)) / (tau[i] * tau[j]))
    np.fill_diagonal(w, 0)
    return w


def adaptive(w_hat, labels, fidelity, u, first, last, delta, step, sweeps, n_classes):
    """Algorithm 1 for ε_0, ε_0 (1 - Δ), ε_0 (1 - Δ)² … not below ε_f, the same number of sweeps for each."""
    epsilon = first
    while epsilon >= last:
        u = algorithm_1(w_hat, labels, fidelity, u, epsilon, step, sweeps, n_classes)
        epsilon = epsilon * (1 - delta)
    return u


def binary_energy(w, u, labels, epsilon, fidelity):
    """The three terms of the binary energy, pair by pair with √d, as section 2 writes ⟨u, L_s u⟩."""
    n, d = len(u), w.sum(axis=1)
    smoothing = potential = fit = 0.0
    for i in range(n):
        for j in range(n):
            if w[i, j]:
                smoothing += epsilon / 4 * w[i, j] * (u[i] / math.sqrt(d[i]) - u[j] / math.sqrt(d[j])) ** 2
        potential += (u[i] ** 2 - 1) ** 2 / (4 * epsilon)
        if labels[i] >= 0:
            fit += fidelity / 2 * (u[i] - (2 * labels[i] - 1)) ** 2
    return smoothing, potential, fit


def binary_steps(w, u, labels, epsilon, fidelity, steps):
    """Convex splitting with a dense matrix; c grows until the proof's condition holds at every vertex."""
    d = w.sum(axis=1)
    laplacian = np.zeros_like(w)
    for i, j in zip(*np.nonzero(w)):
        laplacian[i, j] = -w[i, j] / math.sqrt(d[i] * d[j])
        laplacian[i, i] += w[i, j] / d[i]
    mu = np.where(labels >= 0, fidelity, 0.0)
    for _ in range(steps):
        c = np.array([max(2.0, 3 * x * x - 1) / epsilon for x in u])
        holds = False
        while not holds:
            matrix = np.diag(c + mu) + epsilon * laplacian
            new = np.linalg.solve(matrix, c * u - (u**3 - u) / epsilon + mu * (2 * labels - 1))
            holds = True
            for i in range(len(u)):
                needed = ((u[i] + new[i]) ** 2 + 2 * u[i] ** 2 - 2) / (4 * epsilon)
                if c[i] < needed:
                    c[i], holds = 2 * needed, False
        u = new
    return u


def random_numbers(seed):
    """splitmix64, as numbers in [0, 1)."""
    mask, state = 2**64 - 1, int(seed)
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) >> 11) / 2**53


def gini(weights, classes, n_classes):
    """Gini's impurity of some rows, times their weight."""
    shares = [sum(w for w, c in zip(weights, classes) if c == k) for k in range(n_classes)]
    return sum(shares) - sum(share**2 for share in shares) / sum(shares) if sum(shares) else 0.0


def tree(rows, classes, weights, n_classes, seed, n_tried, extra):
    """A tree, level by level: column, threshold, left and right child, and the share of every class."""
    draw, n, columns = random_numbers(seed), len(rows), list(range(len(rows[0])))
    drawn = dict(enumerate(weights))
    if not extra:
        drawn, bounds = {}, np.cumsum(weights)
        for _ in range(n):
            goal = next(draw) * bounds[-1]
            row = next(i for i, bound in enumerate(bounds) if bound > goal)
            drawn[row] = drawn.get(row, 0) + 1
    waiting, nodes = [sorted(drawn)], []
    for members in waiting:
        shares = [sum(drawn[i] for i in members if classes[i] == k) for k in range(n_classes)]
        node = {"column": 0, "threshold": 0.0, "left": -1, "right": -1,
                "shares": [share / sum(shares) for share in shares]}  # fmt: skip
        nodes.append(node)
        best, tried = None, 0
        while max(shares) < sum(shares) and tried < len(columns) and (tried < n_tried or best is None):
            other = tried + int(next(draw) * (len(columns) - tried))
            columns[tried], columns[other] = columns[other], columns[tried]
            values = sorted({float(rows[i][columns[tried]]) for i in members})
            cuts = [(low + high) / 2 for low, high in itertools.pairwise(values)]
            if extra and cuts:
                cuts = [values[0] + next(draw) * (values[-1] - values[0])]
            for cut in cuts:
                sides = [
                    [i for i in members if (rows[i][columns[tried]] <= cut) == side] for side in (True, False)
                ]
                impure = sum(gini([drawn[i] for i in s], [classes[i] for i in s], n_classes) for s in sides)
                score = sum(shares) - impure
                if best is None or score > best[0] * (1 + 1e-9):
                    best = score, columns[tried], cut, sides
            tried += 1
        if best:
            _, node["column"], node["threshold"], sides = best
            node["left"], node["right"] = len(waiting), len(waiting) + 1
            waiting.extend(sides)
    return nodes


def calibration_error(confidence, right):
    """The mean over all rows of the gap between confidence and accuracy of the rows in the same fifteenth."""
    total = 0.0
    for b in range(15):
        mine = [i for i, sure in enumerate(confidence) if min(int(15 * sure), 14) == b]
        if mine:
            total += len(mine) * abs(np.mean(confidence[mine]) - np.mean(right[mine]))
    return total / len(right)
