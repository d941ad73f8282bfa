"""Files in and out: atomic writing, archives, tables."""
