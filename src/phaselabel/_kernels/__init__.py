"""The compiled loops: arrays in, arrays out; imports numpy and numba only.

A kernel writes only its own rows and adds up in an order that the code fixes, so its result is the same to
the last bit for any number of threads. The compiler may fuse and regroup sums; NaN and infinity keep their
meaning. A kernel checks no index: the caller does.
"""
