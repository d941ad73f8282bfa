"""A graph, known labels and evidence in, a state of low energy out: the star, the energy, the descent."""
