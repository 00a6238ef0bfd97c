"""Medians and their intervals."""

import math


def median(values):
    """The middle value, or the mean of the two middle ones."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values, confidence=0.95):
    """(low, high, coverage): an interval of the median from order statistics, which needs no assumption on how the
    times are distributed. With n independent runs, the k-th smallest and k-th largest enclose the true median with
    probability 1 - 2 P(B < k), B binomial of n halves. The narrowest such interval of at least the wanted confidence is
    taken; with fewer than six runs there is none, and the range is given with the coverage that it has."""
    ordered = sorted(values)
    n = len(ordered)

    def coverage(k):
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    k = max((k for k in range(1, n // 2 + 1) if coverage(k) >= confidence), default=1)
    return ordered[k - 1], ordered[n - k], max(coverage(k), 0.0)


def geometric_mean(values):
    """The mean for ratios."""
    return math.exp(sum(math.log(value) for value in values) / len(values))
