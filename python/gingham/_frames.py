"""Frames of pandas in and out through NumPy, and other frames by the Arrow stream that they give.

Nothing here imports NumPy, pandas, polars or pyarrow before a frame of theirs is there or wanted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gingham._errors import DataError, NotSupportedError

if TYPE_CHECKING:
    from gingham import _internal


def _module(name: str) -> Any:
    """A module that was imported already: an object of it can't be there otherwise."""
    return sys.modules.get(name)


def _is(value: object, module: str, *classes: str) -> bool:
    """Whether a value is of one of the classes of a module."""
    found = _module(module)
    return found is not None and isinstance(value, tuple(getattr(found, name) for name in classes if hasattr(found, name)))


def is_pandas(value: object) -> bool:
    """Whether a value is a frame or a series of pandas."""
    return _is(value, "pandas", "DataFrame", "Series")


def _is_relation(value: object) -> bool:
    relations = _module("gingham._relation")
    return relations is not None and isinstance(value, relations.Relation)


def is_frame(value: object) -> bool:
    """Whether a value can stand for a table."""
    return is_pandas(value) or _is(value, "polars", "LazyFrame") or hasattr(type(value), "__arrow_c_stream__")


def register(core: "_internal.Connection | _internal.Tables", name: str, value: Any) -> None:
    """Lets a frame stand for the table `name` of a connection, or of one statement. Its rows are those that it has now."""
    if is_pandas(value):
        core.register_columns(name, columns_of(value), len(value))
    elif _is_relation(value):
        core.register_result(name, value._rows())
    else:
        stream, untyped = arrow_of(value)
        core.register_arrow(name, stream, _is_read_once(stream), untyped)


def arrow_of(value: Any) -> "tuple[Any, list[str]]":
    """The object whose `__arrow_c_stream__` gives the rows of a frame that is not of pandas, and the names of the columns that have
    no type."""
    if _is(value, "polars", "LazyFrame"):
        value = value.collect()
    if _is(value, "polars", "Series"):
        # A table of one column, which has a name.
        value = value.to_frame(value.name or SERIES_NAME)
    if _is(value, "polars", "DataFrame"):
        return _polars_of(value)
    if not hasattr(type(value), "__arrow_c_stream__"):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(
            f"a value of the class {kind} is no table: give a frame of pandas or polars, a table of pyarrow, "
            "or another object with __arrow_c_stream__"
        )
    return value, []


def _is_read_once(stream: Any) -> bool:
    """Whether the rows are gone when they were read: readers are their own iterators, tables are not."""
    return hasattr(type(stream), "read_next_batch") or hasattr(type(stream), "__next__")


# --- polars -> Arrow --------------------------------------------------------------------------------------------------

# The column of a series that has no name, as that of `generate_series` is called.
SERIES_NAME = "value"


def _polars_of(frame: Any) -> "tuple[Any, list[str]]":
    """A frame of polars without the types that its Arrow stream has in a form of polars' own, and the names of the columns that
    have no type."""
    import polars

    changed, untyped = [], []
    for name, dtype in frame.schema.items():
        series = frame.get_column(name)
        if dtype == polars.Null:
            untyped.append(name)
            changed.append(series.cast(polars.Boolean))
        elif dtype == polars.Object:
            raise NotSupportedError(f"column '{name}' has Python's objects, which SQL has no type for; convert it first")
        elif _is_wide(dtype):
            changed.append(_wide_of(name, series))
        elif (known := _known(name, dtype)) != dtype:
            changed.append(series.cast(known))
    return (frame.with_columns(changed) if changed else frame), untyped


def _is_wide(dtype: Any) -> bool:
    """Whether a type of polars is one of integers of 128 bits."""
    import polars

    return any(dtype == getattr(polars, name, None) for name in ("Int128", "UInt128"))


def _wide_of(name: str, series: Any) -> Any:
    """Integers of 128 bits as DECIMAL(38,0), which has those of 38 digits."""
    import polars

    decimals = series.cast(polars.Decimal(38, 0), strict=False)
    if decimals.null_count() > series.null_count():
        row = (decimals.is_null() & series.is_not_null()).arg_max()
        raise DataError(f"column '{name}', row {row}: {series[row]} has more than 38 digits")
    return decimals


def _known(name: str, dtype: Any) -> Any:
    """A type that has others within it, where all are known outside polars: NULLs without a type are truths."""
    import polars

    if dtype == polars.Null:
        return polars.Boolean()
    if isinstance(dtype, polars.List):
        return polars.List(_known(name, dtype.inner))
    if isinstance(dtype, polars.Array):
        inner = dtype.inner
        while isinstance(inner, polars.Array):
            inner = inner.inner
        return polars.Array(_known(name, inner), dtype.shape)
    if isinstance(dtype, polars.Struct):
        return polars.Struct([polars.Field(field.name, _known(name, field.dtype)) for field in dtype.fields])
    if _is_wide(dtype) or dtype == polars.Object:
        raise NotSupportedError(f"column '{name}' has values of the type {dtype} within others; convert them first")
    return dtype


# --- pandas -> columns ------------------------------------------------------------------------------------------------

Column = "tuple[str, str, Any, Any, Any]"


def columns_of(frame: Any) -> list:
    """The columns of a frame of pandas, or the one of a series, as `_internal` takes them; its index is left out, as it has no name."""
    if _is(frame, "pandas", "Series"):
        frame = frame.to_frame(SERIES_NAME if frame.name is None else frame.name)
    columns = []
    seen: set[str] = set()
    for position, label in enumerate(frame.columns):
        name = str(label)
        if name in seen:
            raise NotSupportedError(f"the frame has two columns of the name '{name}'; give one another name")
        seen.add(name)
        columns.append(_column_of(name, frame.iloc[:, position]))
    return columns


def _column_of(name: str, series: Any) -> Any:
    import numpy
    import pandas

    dtype = series.dtype
    array = series.array
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categories(name, array)
    # Nullable numbers and truths: values beside a mask.
    if hasattr(array, "_mask") and hasattr(array, "_data"):
        mask = numpy.ascontiguousarray(array._mask)
        kind = "bool" if dtype.kind == "b" else "number"
        return (name, kind, _native(array._data), mask if mask.any() else None, None)
    # What pandas keeps by pyarrow, as its strings where that is installed, is read in place.
    if isinstance(array, pandas.arrays.ArrowExtensionArray):
        return (name, "arrow", array.__arrow_array__(), None, None)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return _timestamps(name, moments.to_numpy(), str(dtype.tz))
    if isinstance(dtype, numpy.dtype):
        return _numpy_column(name, series, dtype)
    if isinstance(dtype, pandas.PeriodDtype | pandas.IntervalDtype | pandas.SparseDtype):
        raise NotSupportedError(f"column '{name}' is of the type {dtype}, which SQL has no type for; convert it first")
    return _objects(name, series)


def _categories(name: str, array: Any) -> Any:
    """A column of categories: each is converted once, and taken wherever it stands."""
    import numpy
    import pandas

    codes = numpy.asarray(array.codes)
    missing = codes < 0
    categories = pandas.Series(array.categories, dtype=array.categories.dtype)
    if not len(categories):
        return (name, "object", numpy.full(len(codes), None, dtype=object), missing, None)
    _, kind, values, mask, extra = _column_of(name, categories)
    if kind == "arrow":
        taken = categories.array.take(codes, allow_fill=True).__arrow_array__()
        return (name, kind, taken, None, None)
    places = numpy.where(missing, 0, codes)
    if mask is not None:
        missing |= mask[places]
    return (name, kind, values[places], missing if missing.any() else None, extra)


def _numpy_column(name: str, series: Any, dtype: Any) -> Any:
    import numpy

    values = series.to_numpy()
    if dtype.kind == "b":
        return (name, "bool", _native(values), None, None)
    if dtype.kind in "iu":
        return (name, "number", _native(values), None, None)
    if dtype.kind == "f":
        if dtype.itemsize == 2:
            values = values.astype("float32")
        # NaN is how pandas says that a value is missing, where a column has no mask; Float64 has both.
        mask = numpy.isnan(values)
        return (name, "number", _native(values), mask if mask.any() else None, None)
    if dtype.kind == "M":
        return _timestamps(name, values, None)
    if dtype.kind == "m":
        return _durations(name, values)
    if dtype.kind == "O":
        return _objects(name, series)
    raise NotSupportedError(f"column '{name}' is of the type {dtype}, which SQL has no type for; convert it first")


def _native(values: Any) -> Any:
    """An array as Rust reads it: contiguous, in this machine's order of bytes."""
    import numpy

    return numpy.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _timestamps(name: str, values: Any, zone: "str | None") -> Any:
    import numpy

    unit, step = numpy.datetime_data(values.dtype)
    if unit not in ("s", "ms", "us", "ns") or step != 1:
        values = values.astype("datetime64[us]")
        unit = "us"
    mask = numpy.isnat(values)
    return (name, "timestamp", _native(values).view("int64"), mask if mask.any() else None, (unit, zone))


def _durations(name: str, values: Any) -> Any:
    import numpy

    unit, step = numpy.datetime_data(values.dtype)
    if unit not in ("s", "ms", "us", "ns") or step != 1:
        values = values.astype("timedelta64[us]")
        unit = "us"
    mask = numpy.isnat(values)
    return (name, "duration", _native(values).view("int64"), mask if mask.any() else None, unit)


def _objects(name: str, series: Any) -> Any:
    import numpy

    mask = series.isna().to_numpy()
    values = numpy.ascontiguousarray(series.to_numpy(dtype=object))
    return (name, "object", values, numpy.ascontiguousarray(mask) if mask.any() else None, None)


# --- columns -> pandas ------------------------------------------------------------------------------------------------


def frame_of(columns: list) -> Any:
    """A frame of pandas from the columns of a result. Integers and truths with NULL become Int64 and boolean, and floats with
    NULL or NaN Float64, which has both: NaN in a column without a mask would be taken for a missing value."""
    import pandas

    names = [name for name, *_ in columns]
    series = {position: _series_of(*column) for position, column in enumerate(columns)}
    frame = pandas.DataFrame(series, copy=False)
    frame.columns = names
    return frame


_MASKED = {"i": "IntegerArray", "u": "IntegerArray", "f": "FloatingArray", "b": "BooleanArray"}


def _series_of(name: str, kind: str, values: Any, mask: Any, extra: Any) -> Any:
    import numpy
    import pandas

    if kind in ("number", "bool"):
        if mask is None and values.dtype.kind == "f" and numpy.isnan(values).any():
            mask = numpy.zeros(len(values), dtype=bool)
        if mask is None:
            return values
        return getattr(pandas.arrays, _MASKED[values.dtype.kind])(values, mask)
    if kind == "date":
        return _moments(values, mask, "D").astype("datetime64[s]")
    if kind == "duration":
        return _missing(values.view(f"timedelta64[{extra}]"), mask)
    if kind == "timestamp":
        unit, zone = extra
        moments = _moments(values, mask, unit)
        if zone is None:
            return moments
        return pandas.Series(moments).dt.tz_localize("UTC").dt.tz_convert(zone).array
    return values


def _moments(values: Any, mask: Any, unit: str) -> Any:
    return _missing(values.view(f"datetime64[{unit}]"), mask)


def _missing(values: Any, mask: Any) -> Any:
    if mask is not None:
        values[mask] = "NaT"
    return values
