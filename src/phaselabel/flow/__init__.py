"""Energy in, labels out: the star, the energy, a block of rows, the descent, callbacks."""
