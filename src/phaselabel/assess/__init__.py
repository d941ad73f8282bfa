"""How good an answer is: calibration, hidden labels, verdict, suspects, novelty, explanations, questions."""
