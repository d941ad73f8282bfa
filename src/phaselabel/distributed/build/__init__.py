"""Rows in chunks in, a similarity graph in blocks out."""
