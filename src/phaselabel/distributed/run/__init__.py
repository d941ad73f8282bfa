"""A graph in blocks on the workers in, the flow's answer out."""
