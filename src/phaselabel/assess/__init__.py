"""How good an answer is: votes, calibration, suspects, explanations, what to label next."""
