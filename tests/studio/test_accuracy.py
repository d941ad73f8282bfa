"""The estimated accuracy."""

import numpy as np

from phaselabel.studio.accuracy import CheckedGuess, estimate


def test_the_estimate_learns_from_wrong_guesses():
    share, backing, known = np.full(1000, 0.9), np.full(1000, 0.5), np.zeros(1000, bool)
    good, _ = estimate(share, backing, known, [CheckedGuess(0.9, 0.5, True)] * 30, 10)
    bad, _ = estimate(share, backing, known, [CheckedGuess(0.9, 0.5, k % 2 == 0) for k in range(30)], 10)
    none, _ = estimate(share, backing, known, [], 10)
    many, _ = estimate(share, backing, known, [CheckedGuess(0.9, 0.5, True)] * 300, 10)
    assert good.mean > 0.9
    assert 0.35 < bad.mean < 0.75
    assert bad.low < 0.5 < bad.high
    assert many.high - many.low < 0.5 * (good.high - good.low) < 0.5 * (none.high - none.low)
    everything, confidence = estimate(share, backing, np.ones(1000, bool), [], 10)
    assert everything.mean == everything.low == everything.high == 1
    assert (confidence == 1).all()


def test_hard_questions_do_not_speak_for_easy_items():
    """Wrong guesses where little is known say less about items of which more is known."""
    share, known = np.full(1000, 0.9), np.zeros(1000, bool)
    past = [CheckedGuess(0.9, 0.25, k % 2 == 0) for k in range(20)]
    hard, _ = estimate(share, np.full(1000, 0.25), known, past, 10)
    easy, _ = estimate(share, np.full(1000, 0.6), known, past, 10)
    assert 0.35 < hard.mean < 0.65
    assert easy.mean > hard.mean + 0.25


def test_what_experts_believe_leads_the_estimate():
    """Where few labels are right and nobody has been asked about the others, only beliefs say so."""
    share, backing, known = np.full(1000, 0.7), np.full(1000, 0.6), np.zeros(1000, bool)
    asked = [(0.3, 0.2, k % 2 == 0) for k in range(40)]
    alone, _ = estimate(share, backing, known, [CheckedGuess(*guess) for guess in asked], 11)
    belief = np.full(1000, 0.4)
    with_belief, confidence = estimate(
        share, backing, known, [CheckedGuess(*guess, 0.4) for guess in asked], 11, belief
    )
    assert alone.mean > 0.85
    assert with_belief.low < 0.4 < with_belief.high
    assert 0.35 < with_belief.mean < 0.65
    assert np.abs(confidence.mean() - with_belief.mean) < 0.05
    # Guesses from before the first belief are left out.
    early, _ = estimate(share, backing, known, [CheckedGuess(0.3, 0.2, False)] * 40, 11, belief)
    assert np.abs(early.mean - with_belief.mean) < 0.15
