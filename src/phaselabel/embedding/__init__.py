"""Texts and pictures in, rows of numbers out: by a model in a local file, cached by content."""
