"""A picture to draw on or items to ask about in, labels for everything out: a page on one's own machine."""
