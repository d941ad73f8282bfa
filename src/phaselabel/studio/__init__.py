"""A picture to draw on or items to label in, labels for everything out: a page in the browser."""
