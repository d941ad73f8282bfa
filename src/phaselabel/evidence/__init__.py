"""Rows, graphs and a few labels in, the probability of every class at every row out."""
