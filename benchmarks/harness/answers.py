"""Whether two engines' answers agree."""

from decimal import Decimal, InvalidOperation

# Engines divide and average in different types: HyPer keeps few digits, DuckDB uses floats. A relative difference below
# this, or of one unit in the last digit that either prints, is agreement. Sums and counts agree exactly in practice.
TOLERANCE = Decimal("1e-9")


def number(text):
    """The number that a cell holds, or None."""
    try:
        value = Decimal(text)
    except (InvalidOperation, TypeError):
        return None
    return value if value.is_finite() else None


def unit(value):
    """One in the last printed digit."""
    return Decimal(1).scaleb(min(value.as_tuple().exponent, 0))


def same(left, right):
    """Whether two cells hold the same value."""
    if left == right or left is None or right is None:
        return left == right
    a, b = number(left), number(right)
    if a is None or b is None:
        return left.rstrip(" ") == right.rstrip(" ")
    if a == b:
        return True
    if a == a.to_integral_value() and b == b.to_integral_value() and "." not in left + right:
        return False
    return abs(a - b) <= max(TOLERANCE * max(abs(a), abs(b)), unit(a), unit(b))


def sort_key(row):
    """Orders rows alike for all engines: by text, and by numbers to a few digits."""
    key = []
    for cell in row:
        value = None if cell is None else number(cell)
        key.append((cell is None, str(round(value, 1)) if value is not None else (cell or "").rstrip(" ")))
    return key


def difference(expected, actual, tied):
    """Where `actual` differs from `expected`, or None. Both are lists of rows of text."""
    if len(expected) != len(actual):
        return f"{len(expected)} rows expected, {len(actual)} found"
    if tied:
        expected, actual = sorted(expected, key=sort_key), sorted(actual, key=sort_key)
    for index, (left, right) in enumerate(zip(expected, actual)):
        for column, (a, b) in enumerate(zip(left, right)):
            if not same(a, b):
                return f"row {index + 1}, column {column + 1}: '{a}' expected, '{b}' found"
    return None
