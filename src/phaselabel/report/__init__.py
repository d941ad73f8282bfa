"""A fitted model in, an HTML page for the person who asked for it out."""
