//! Values of a view as Arrow arrays: exactly the type that `LogicalType::to_arrow` names, NULLs from the validity bits.
//!
//! Strings come as views: those of a dictionary share its entries' buffers, those stored as bytes share the zone's.

use crate::decode::access::{Strings, misfit, slice, with_code, with_codes};
use crate::decode::gather::{from_chunks, from_packed, packed, spans};
use crate::model::dictionary::DictionaryVersion;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout, code_bytes, float_from_order, real_from_order};
use crate::{Datum, Error, LogicalType, Result};
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use gingham_kernels::{Code, Isa, Value, decode, lookup, minmax, scan};
use std::ops::Range;
use std::sync::Arc;

/// Values of a column at row ids `tids` of a zone, as the column's Arrow type. Fails for a record that the zone
/// does not have.
pub fn lookup(view: &ColumnView, tids: &[u32], isa: Isa) -> Result<ArrayRef> {
    selected(view, Selection::Tids(tids), isa)
}

/// Values of the records `rows` of a zone, as the column's Arrow type. Fails for records that the zone does not have.
pub fn decode(view: &ColumnView, rows: Range<usize>, isa: Isa) -> Result<ArrayRef> {
    selected(view, Selection::Run(rows), isa)
}

fn selected(view: &ColumnView, selection: Selection<'_>, isa: Isa) -> Result<ArrayRef> {
    if !selection.fits(view.rows) {
        return Err(Error::Internal(format!("records past the {} of a zone: {selection:?}", view.rows)));
    }
    values(view, &selection, isa)
}
/// Records of a zone.
#[derive(Debug, Clone)]
pub enum Selection<'a> {
    /// One after the other.
    Run(Range<usize>),
    /// At these places, ascending or not.
    Tids(&'a [u32]),
}

impl Selection<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Run(run) => run.len(),
            Self::Tids(tids) => tids.len(),
        }
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of `values` at the selected places.
    fn copy<T: Copy>(&self, isa: Isa, values: &[T]) -> Vec<T> {
        match self {
            Self::Run(run) => values[run.clone()].to_vec(),
            Self::Tids(tids) => {
                let mut out = Vec::new();
                lookup::copy(isa, values, tids, &mut out);
                out
            }
        }
    }

    /// Whether all places are below `rows`.
    pub(crate) fn fits(&self, rows: usize) -> bool {
        match self {
            Self::Run(run) => run.start <= run.end && run.end <= rows,
            Self::Tids(tids) => tids.iter().copied().max().is_none_or(|max| (max as usize) < rows),
        }
    }
}

/// All values of a zone, deleted records' too.
pub(crate) fn whole(view: &ColumnView, isa: Isa) -> Result<ArrayRef> {
    values(view, &Selection::Run(0..view.rows), isa)
}

/// The selected values, which must exist.
pub(crate) fn values(view: &ColumnView, selection: &Selection<'_>, isa: Isa) -> Result<ArrayRef> {
    let nulls = nulls(view, selection)?;
    match &view.shape {
        PhysicalLayout::Constant(value) => constant(value, &view.logical_type, selection.len()),
        PhysicalLayout::Contiguous { codes, width } => {
            with_codes!(view, codes, *width, |codes| coded(view, codes, selection, nulls, isa))
        }
        PhysicalLayout::Wide { values } => {
            let values = selection.copy(isa, slice::<i128>(view, values, view.rows)?);
            integers(&view.logical_type, &Listed(&values), nulls, isa)
        }
        PhysicalLayout::Bytes { offsets, bytes } => {
            let strings = Strings::new(view, offsets, bytes)?;
            if let Selection::Tids(tids) = selection
                && let Some(run) = covering_run(tids)
            {
                let first = run.start as u32;
                let indices: UInt32Array = tids.iter().map(|tid| tid - first).collect::<Vec<_>>().into();
                let all = values(view, &Selection::Run(run), isa)?;
                return Ok(arrow::compute::take(&all, &indices, None)?);
            }
            match view.logical_type.to_arrow() {
                DataType::BinaryView => byte_strings::<BinaryViewType, BinaryType>(view, strings, selection, nulls),
                _ => byte_strings::<StringViewType, Utf8Type>(view, strings, selection, nulls),
            }
        }
        PhysicalLayout::Chunked { bytes, place, width: 16 } => {
            let values = from_chunks::<i128>(view, bytes, *place, selection, isa)?;
            integers(&view.logical_type, &Listed(&values), nulls, isa)
        }
        PhysicalLayout::Chunked { bytes, place, width } => with_code!(view, *width, C => {
            let codes = from_chunks::<C>(view, bytes, *place, selection, isa)?;
            coded(view, &codes, &Selection::Run(0..codes.len()), nulls, isa)
        }),
        PhysicalLayout::ChunkedBytes { slots, place, bytes } => {
            let spans = spans(view, slots, *place, bytes, selection, isa)?;
            let (views, bytes) = gathered(bytes, spans.len(), |at| spans[at].clone());
            match view.logical_type.to_arrow() {
                DataType::BinaryView => viewed::<BinaryViewType>(view, views, bytes, nulls),
                _ => viewed::<StringViewType>(view, views, bytes, nulls),
            }
        }
        PhysicalLayout::Packed { bytes, format } => with_code!(view, code_bytes(format.width()), C => {
            let codes = from_packed::<C>(packed(view, bytes, *format)?, selection, isa);
            coded(view, &codes, &Selection::Run(0..codes.len()), nulls, isa)
        }),
    }
}

/// The run that covers `tids`, when they are at least half of it: checking a run of text at once costs less than
/// checking each string.
fn covering_run(tids: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*tids.iter().min()? as usize, *tids.iter().max()? as usize);
    (last - first < 2 * tids.len()).then_some(first..last + 1)
}

fn nulls(view: &ColumnView, selection: &Selection<'_>) -> Result<Option<NullBuffer>> {
    let Some(validity) = &view.validity else { return Ok(None) };
    if validity.len() < view.rows {
        return Err(misfit(view, &format!("{} validity bits", validity.len())));
    }
    let selected = match selection {
        Selection::Run(run) => validity.slice(run.start, run.len()),
        Selection::Tids(tids) => BooleanBuffer::collect_bool(tids.len(), |at| validity.value(tids[at] as usize)),
    };
    Ok(Some(NullBuffer::new(selected)).filter(|nulls| nulls.null_count() > 0))
}

fn coded<C: Code + Value + ArrowNativeType>(
    view: &ColumnView,
    codes: &[C],
    selection: &Selection<'_>,
    nulls: Option<NullBuffer>,
    isa: Isa,
) -> Result<ArrayRef> {
    match &view.meaning {
        CodeMeaning::FrameOfReference { base } => {
            integers(&view.logical_type, &Coded { codes, base: *base, selection, isa }, nulls, isa)
        }
        CodeMeaning::ScaledFloat { base, digits } => {
            let divisor = power_of_ten(*digits).ok_or_else(|| misfit(view, "digits out of range"))?;
            let mut values = Vec::new();
            match selection {
                Selection::Run(run) => decode::scaled(isa, &codes[run.clone()], *base, divisor, &mut values),
                Selection::Tids(_) => decode::scaled(isa, &selection.copy(isa, codes), *base, divisor, &mut values),
            }
            Ok(match view.logical_type {
                LogicalType::Float32 => {
                    let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
                    Arc::new(Float32Array::new(values.into(), nulls))
                }
                _ => Arc::new(Float64Array::new(values.into(), nulls)),
            })
        }
        CodeMeaning::FloatOrder { base } => {
            let orders = Coded { codes, base: (*base).into(), selection, isa };
            Ok(match view.logical_type {
                LogicalType::Float32 => {
                    let values: Vec<f32> = orders.all::<u32>().into_iter().map(real_from_order).collect();
                    Arc::new(Float32Array::new(values.into(), nulls))
                }
                _ => {
                    let values: Vec<f64> = orders.all::<u64>().into_iter().map(float_from_order).collect();
                    Arc::new(Float64Array::new(values.into(), nulls))
                }
            })
        }
        CodeMeaning::Dictionary(version) => entries(view, codes, version, selection, nulls, isa),
        CodeMeaning::Value => Err(misfit(view, "codes without a meaning")),
    }
}

/// The entries that codes stand for.
fn entries<C: Code + ArrowNativeType>(
    view: &ColumnView,
    codes: &[C],
    version: &DictionaryVersion,
    selection: &Selection<'_>,
    nulls: Option<NullBuffer>,
    isa: Isa,
) -> Result<ArrayRef> {
    if version.entries.is_empty() {
        return Ok(new_null_array(&view.logical_type.to_arrow(), selection.len()));
    }
    let codes = selection.copy(isa, codes);
    if let Some((_, max)) = minmax::min_max(isa, &codes)
        && max.to_u64() >= version.entries.len() as u64
    {
        return Err(misfit(view, &format!("code {} of {} entries", max.to_u64(), version.entries.len())));
    }
    let buffer = Buffer::from_vec(codes);
    let indices: ArrayRef = match C::BITS {
        8 => Arc::new(UInt8Array::new(buffer.into(), nulls)),
        16 => Arc::new(UInt16Array::new(buffer.into(), nulls)),
        32 => Arc::new(UInt32Array::new(buffer.into(), nulls)),
        _ => Arc::new(UInt64Array::new(buffer.into(), nulls)),
    };
    Ok(arrow::compute::take(&version.entries, &indices, None)?)
}

/// Integers on their way to an array of any width.
trait Integers {
    fn all<V: Value>(&self) -> Vec<V>;
}

/// Base plus code at the selected places.
struct Coded<'a, C> {
    codes: &'a [C],
    base: i128,
    selection: &'a Selection<'a>,
    isa: Isa,
}

impl<C: Code> Integers for Coded<'_, C> {
    fn all<V: Value>(&self) -> Vec<V> {
        let (base, mut out) = (V::narrow(self.base), Vec::new());
        match self.selection {
            Selection::Run(run) => decode::widen(self.isa, &self.codes[run.clone()], base, &mut out),
            Selection::Tids(tids) => lookup::widen(self.isa, self.codes, tids, base, &mut out),
        }
        out
    }
}

/// These.
struct Listed<'a, I>(&'a [I]);

impl<I: Copy + Into<i128>> Integers for Listed<'_, I> {
    fn all<V: Value>(&self) -> Vec<V> {
        self.0.iter().map(|value| V::narrow((*value).into())).collect()
    }
}

/// An array of a type of the integer class, with these values, which it must hold.
pub fn array_of_integers<I: Copy + Into<i128>>(
    logical_type: &LogicalType,
    values: &[I],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    integers(logical_type, &Listed(values), nulls, Isa::best())
}

/// An array of the integer class.
fn integers(
    logical_type: &LogicalType,
    values: &impl Integers,
    nulls: Option<NullBuffer>,
    isa: Isa,
) -> Result<ArrayRef> {
    fn array<T: ArrowPrimitiveType>(data_type: DataType, values: &impl Integers, nulls: Option<NullBuffer>) -> ArrayRef
    where
        T::Native: Value,
    {
        let values = ScalarBuffer::from(values.all::<T::Native>());
        Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type))
    }
    let data_type = logical_type.to_arrow();
    Ok(match &data_type {
        DataType::Boolean => {
            let values = values.all::<u8>();
            let mut words = vec![0; values.len().div_ceil(64)];
            scan::range(isa, &values, 1, 1, &mut words);
            let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, values.len());
            Arc::new(BooleanArray::new(bits, nulls))
        }
        DataType::Int8 => array::<Int8Type>(data_type, values, nulls),
        DataType::Int16 => array::<Int16Type>(data_type, values, nulls),
        DataType::Int32 => array::<Int32Type>(data_type, values, nulls),
        DataType::Int64 => array::<Int64Type>(data_type, values, nulls),
        DataType::UInt8 => array::<UInt8Type>(data_type, values, nulls),
        DataType::UInt16 => array::<UInt16Type>(data_type, values, nulls),
        DataType::UInt32 => array::<UInt32Type>(data_type, values, nulls),
        DataType::UInt64 => array::<UInt64Type>(data_type, values, nulls),
        DataType::Date32 => array::<Date32Type>(data_type, values, nulls),
        DataType::Decimal128(_, _) => array::<Decimal128Type>(data_type, values, nulls),
        DataType::Time32(TimeUnit::Second) => array::<Time32SecondType>(data_type, values, nulls),
        DataType::Time32(_) => array::<Time32MillisecondType>(data_type, values, nulls),
        DataType::Time64(TimeUnit::Microsecond) => array::<Time64MicrosecondType>(data_type, values, nulls),
        DataType::Time64(_) => array::<Time64NanosecondType>(data_type, values, nulls),
        DataType::Timestamp(TimeUnit::Second, _) => array::<TimestampSecondType>(data_type, values, nulls),
        DataType::Timestamp(TimeUnit::Millisecond, _) => array::<TimestampMillisecondType>(data_type, values, nulls),
        DataType::Timestamp(TimeUnit::Microsecond, _) => array::<TimestampMicrosecondType>(data_type, values, nulls),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => array::<TimestampNanosecondType>(data_type, values, nulls),
        other => return Err(Error::corrupt("a column view", format!("integers of type {other}"))),
    })
}

/// Text (`V`, from arrays of `B`) or BINARY stored as bytes, sharing the zone's buffer. Whether text is UTF-8 is checked,
/// so that damage can't pass for it.
fn byte_strings<V, B>(
    view: &ColumnView,
    strings: Strings<'_>,
    selection: &Selection<'_>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    V: ByteViewType<Native = B::Native>,
    B: ByteArrayType<Offset = i32>,
{
    match selection {
        Selection::Run(run) => {
            let (offsets, bytes) = rebased(strings, run)?;
            let array = GenericByteArray::<B>::try_new(offsets, bytes, nulls);
            let array = array.map_err(|error| misfit(view, &error.to_string()))?;
            Ok(Arc::new(GenericByteViewArray::<V>::from(&array)))
        }
        Selection::Tids(tids) => {
            let span = |at: usize| {
                let tid = tids[at] as usize;
                strings.offsets()[tid] as usize..strings.offsets()[tid + 1] as usize
            };
            let (views, bytes) = gathered(strings.buffer(), tids.len(), span);
            viewed::<V>(view, views, bytes, nulls)
        }
    }
}

/// An array of views into a buffer.
fn viewed<V: ByteViewType>(
    view: &ColumnView,
    views: ScalarBuffer<u128>,
    bytes: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let array = GenericByteViewArray::<V>::try_new(views, vec![bytes], nulls);
    Ok(Arc::new(array.map_err(|error| misfit(view, &error.to_string()))?))
}

/// The run's part of the bytes, and offsets into it.
fn rebased(strings: Strings<'_>, run: &Range<usize>) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let offsets = &strings.offsets()[run.start..=run.end];
    let (first, end) = (offsets[0], offsets[run.len()]);
    if i32::try_from(end - first).is_err() {
        return Err(Error::corrupt(
            "a view of byte strings",
            format!("{} bytes in {} records", end - first, run.len()),
        ));
    }
    let bytes = part(strings.buffer(), first as usize..end as usize);
    let offsets: Vec<i32> = offsets.iter().map(|offset| (offset - first) as i32).collect();
    Ok((OffsetBuffer::new(offsets.into()), bytes))
}

/// Strings up to this long lie in their view.
const INLINE: usize = 12;

/// Arrow's views of `length` strings, each at its span of the zone's bytes, and the buffer that they point into: a part
/// of the zone's, or a copy when few are selected, so that these few neither hold nor are charged for all that lies
/// between them.
fn gathered(zone: &Buffer, length: usize, span: impl Fn(usize) -> Range<usize>) -> (ScalarBuffer<u128>, Buffer) {
    let (mut first, mut end, mut total) = (usize::MAX, 0, 0);
    for span in (0..length).map(&span).filter(|span| span.len() > INLINE) {
        (first, end, total) = (first.min(span.start), end.max(span.end), total + span.len());
    }
    let first = first.min(end);
    if total * 4 < end - first {
        let mut bytes = Vec::with_capacity(total);
        let views = (0..length).map(|at| {
            let string = &zone[span(at)];
            let view = make_view(string, 0, bytes.len() as u32);
            if string.len() > INLINE {
                bytes.extend_from_slice(string);
            }
            view
        });
        (views.collect(), Buffer::from_vec(bytes))
    } else {
        let view = |at| {
            let span = span(at);
            // The view of a short string ignores the offset, which may lie before the part.
            let offset = (span.start as u32).wrapping_sub(first as u32);
            make_view(&zone[span], 0, offset)
        };
        ((0..length).map(view).collect(), part(zone, first..end))
    }
}

/// A part of a buffer, sharing its bytes, whose capacity is its own length: by capacity, operators account for the
/// memory that a batch holds, and a plain slice would count the whole segment each time.
fn part(buffer: &Buffer, range: Range<usize>) -> Buffer {
    struct SharedBytes(Buffer);

    impl AsRef<[u8]> for SharedBytes {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    Buffer::from(bytes::Bytes::from_owner(SharedBytes(buffer.slice_with_length(range.start, range.len()))))
}

/// An array of `length` times the same value.
pub(crate) fn constant(value: &Datum, logical_type: &LogicalType, length: usize) -> Result<ArrayRef> {
    let data_type = logical_type.to_arrow();
    Ok(match (value, &data_type) {
        (Datum::Null, _) => new_null_array(&data_type, length),
        (Datum::Integer(value), _) => integers(logical_type, &Listed(&vec![*value; length]), None, Isa::Scalar)?,
        (Datum::Float(value), DataType::Float32) => Arc::new(Float32Array::from_value(value.get() as f32, length)),
        (Datum::Float(value), DataType::Float64) => Arc::new(Float64Array::from_value(value.get(), length)),
        (Datum::Bytes(bytes), DataType::BinaryView) => {
            repeated(Arc::new(BinaryViewArray::from_iter_values([bytes])), length)?
        }
        (Datum::Bytes(bytes), DataType::Utf8View) => match std::str::from_utf8(bytes) {
            Ok(text) => repeated(Arc::new(StringViewArray::from_iter_values([text])), length)?,
            Err(error) => return Err(Error::Internal(format!("a constant of type {logical_type}: {error}"))),
        },
        _ => return Err(Error::Internal(format!("the constant {value:?} is not of type {logical_type}"))),
    })
}

/// The only value of an array, so many times, without copying its bytes.
fn repeated(value: ArrayRef, length: usize) -> Result<ArrayRef> {
    Ok(arrow::compute::take(&value, &UInt8Array::from_value(0, length), None)?)
}

/// What a scaled float stands for; `real` when it is a REAL, widened.
pub(crate) fn scaled_value(scaled: i64, digits: u8, real: bool) -> f64 {
    let value = scaled as f64 / power_of_ten(digits).unwrap_or(f64::NAN);
    if real { f64::from(value as f32) } else { value }
}

/// Powers of ten that a DOUBLE holds exactly.
fn power_of_ten(digits: u8) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ];
    POWERS.get(usize::from(digits)).copied()
}

/// Value `row` of a column of type `logical_type`; `None` when the array is of another type.
pub(crate) fn datum(logical_type: &LogicalType, array: &ArrayRef, row: usize) -> Option<Datum> {
    if array.is_null(row) {
        return Some(Datum::Null);
    }
    if *array.data_type() != logical_type.to_arrow() {
        return None;
    }
    let integer = match array.data_type() {
        DataType::Boolean => i128::from(array.as_boolean().value(row)),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value(row),
        DataType::Float32 => {
            return Some(Datum::Float(crate::FloatBits::new(array.as_primitive::<Float32Type>().value(row).into())));
        }
        DataType::Float64 => {
            return Some(Datum::Float(crate::FloatBits::new(array.as_primitive::<Float64Type>().value(row))));
        }
        DataType::Utf8View => return Some(Datum::Bytes(array.as_string_view().value(row).as_bytes().into())),
        DataType::BinaryView => return Some(Datum::Bytes(array.as_binary_view().value(row).into())),
        // Dates, times and timestamps are integers underneath.
        DataType::Date32 | DataType::Time32(_) => {
            array.to_data().buffers().first()?.typed_data::<i32>().get(array.offset() + row).copied()?.into()
        }
        DataType::Time64(_) | DataType::Timestamp(..) => {
            array.to_data().buffers().first()?.typed_data::<i64>().get(array.offset() + row).copied()?.into()
        }
        _ => return None,
    };
    Some(Datum::Integer(integer))
}
