//! Floats as instructions: what [`crate::program::float`] does, one value at a time.

use crate::program::expression::FloatArithmetic;
use crate::program::float::{MOST_SHIFT, power_of_ten};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The other bits of a negative one, turned: a float's bits to the integer that orders as it does, and back.
fn turned(builder: &mut FunctionBuilder<'_>, bits: Value) -> Value {
    let sign = builder.ins().sshr_imm_u(bits, 63);
    let others = builder.ins().ushr_imm_u(sign, 1);
    builder.ins().bxor(bits, others)
}

/// A float of the integer that orders as it does.
pub(super) fn float(builder: &mut FunctionBuilder<'_>, ordered: Value) -> Value {
    let bits = turned(builder, ordered);
    builder.ins().bitcast(types::F64, MemFlagsData::new(), bits)
}

/// The integer that orders as a float does.
pub(super) fn ordered(builder: &mut FunctionBuilder<'_>, float: Value) -> Value {
    let bits = builder.ins().bitcast(types::I64, MemFlagsData::new(), float);
    turned(builder, bits)
}

/// Two floats combined.
pub(super) fn combine(
    builder: &mut FunctionBuilder<'_>,
    operator: FloatArithmetic,
    left: Value,
    right: Value,
) -> Value {
    match operator {
        FloatArithmetic::Add => builder.ins().fadd(left, right),
        FloatArithmetic::Subtract => builder.ins().fsub(left, right),
        FloatArithmetic::Multiply => builder.ins().fmul(left, right),
        FloatArithmetic::Divide => builder.ins().fdiv(left, right),
    }
}

/// The float of an integer with so many digits behind the point.
pub(super) fn of_scaled(builder: &mut FunctionBuilder<'_>, value: Value, digits: u32) -> Value {
    let result = builder.ins().fcvt_from_sint(types::F64, value);
    if digits == 0 {
        return result;
    }
    let scale = builder.ins().f64const(power_of_ten(digits));
    builder.ins().fdiv(result, scale)
}

/// How many units a float is, in 128 bits, and 1 where that is no integer of a size that was foreseen. It takes few
/// instructions where the float is two halves of 51 bits, as all are that are not much smaller than the largest.
pub(super) fn units(builder: &mut FunctionBuilder<'_>, value: Value, unit: i32, size: i32) -> (Value, Value) {
    let Some(halves) = Halves::of(size, unit) else { return shifted_units(builder, value, unit) };
    let (units, is_exact) = halves.units(builder, value);
    let [others, done] = std::array::from_fn(|_| builder.create_block());
    let all = [types::I128, types::I64].map(|result| builder.append_block_param(done, result));
    let none = builder.ins().iconst(types::I64, 0);
    let exact = [units, none].map(BlockArg::Value);
    builder.ins().brif(is_exact, done, &exact, others, &[] as &[BlockArg]);
    builder.set_cold_block(others);
    builder.seal_block(others);
    builder.switch_to_block(others);
    let (units, inexact) = shifted_units(builder, value, unit);
    builder.ins().jump(done, &[units, inexact].map(BlockArg::Value));
    builder.seal_block(done);
    builder.switch_to_block(done);
    (all[0], all[1])
}

/// How a float becomes two integers of 51 bits by adding constants, by which it is rounded at a certain bit (Rump, Ogita and
/// Oishi, Accurate Floating-Point Summation, SIAM Journal on Scientific Computing 31, 2008, section 3).
struct Halves {
    /// The exponent of the unit of the upper half, and of the lower one.
    upper: i32,
    lower: i32,
    /// That of the unit of both together.
    unit: i32,
}

/// Bits of a half, its sign aside.
const HALF: i32 = 51;

impl Halves {
    /// The halves of floats nearer to zero than two to the power of `size`; `None` where a constant would be no normal number.
    fn of(size: i32, unit: i32) -> Option<Self> {
        let upper = size - HALF;
        (upper > unit && size <= 1022).then(|| Self { upper, lower: unit.max(upper - HALF), unit })
    }

    /// The units of a float, and whether these are all of it.
    fn units(&self, builder: &mut FunctionBuilder<'_>, value: Value) -> (Value, Value) {
        let (upper, high) = rounded(builder, value, self.upper);
        let rest = builder.ins().fsub(value, high);
        let (lower, low) = rounded(builder, rest, self.lower);
        let is_exact = builder.ins().fcmp(FloatCC::Equal, low, rest);
        let upper = wide_shifted(builder, upper, self.upper - self.unit);
        let lower = wide_shifted(builder, lower, self.lower - self.unit);
        (builder.ins().iadd(upper, lower), is_exact)
    }
}

/// A float rounded to a multiple of two to a power, of which it is fewer than 2 to the power of [`HALF`]: that many, and the
/// float.
fn rounded(builder: &mut FunctionBuilder<'_>, value: Value, power: i32) -> (Value, Value) {
    // One and a half times two to the power of 52 units: the distance of two neighbours is a unit there.
    let large = ((1023 + 52 + power) as u64) << 52 | 1 << 51;
    let constant = builder.ins().f64const(f64::from_bits(large));
    let sum = builder.ins().fadd(value, constant);
    let rounded = builder.ins().fsub(sum, constant);
    let bits = builder.ins().bitcast(types::I64, MemFlagsData::new(), sum);
    let own = builder.ins().iconst(types::I64, large as i64);
    (builder.ins().isub(bits, own), rounded)
}

/// An integer in 128 bits, shifted to the left by fewer.
fn wide_shifted(builder: &mut FunctionBuilder<'_>, value: Value, shift: i32) -> Value {
    let (low, high) = match shift {
        0 => (value, builder.ins().sshr_imm_u(value, 63)),
        1..64 => {
            let low = builder.ins().ishl_imm_u(value, i64::from(shift));
            (low, builder.ins().sshr_imm_u(value, i64::from(64 - shift)))
        }
        _ => {
            let low = builder.ins().iconst(types::I64, 0);
            (low, builder.ins().ishl_imm_u(value, i64::from(shift - 64)))
        }
    };
    builder.ins().iconcat(low, high)
}

/// How many units any float is, in 128 bits, and 1 where that is no integer of a size that was foreseen.
fn shifted_units(builder: &mut FunctionBuilder<'_>, value: Value, unit: i32) -> (Value, Value) {
    let bits = builder.ins().bitcast(types::I64, MemFlagsData::new(), value);
    let shifted = builder.ins().ushr_imm_u(bits, 52);
    let exponent = builder.ins().band_imm_u(shifted, 0x7ff);
    let fraction = builder.ins().band_imm_u(bits, (1 << 52) - 1);
    let is_normal = builder.ins().icmp_imm_s(IntCC::NotEqual, exponent, 0);
    let is_normal = builder.ins().uextend(types::I64, is_normal);
    let implied = builder.ins().ishl_imm_u(is_normal, 52);
    let mantissa = builder.ins().bor(fraction, implied);
    let one = builder.ins().iconst(types::I64, 1);
    let exponent = builder.ins().umax(exponent, one);
    let shift = builder.ins().iadd_imm_s(exponent, i64::from(-1075 - unit));
    // Bits below the unit, of which none may be set.
    let below = builder.ins().ineg(shift);
    let zero = builder.ins().iconst(types::I64, 0);
    let most_below = builder.ins().iconst(types::I64, 63);
    let below = builder.ins().smax(below, zero);
    let below = builder.ins().smin(below, most_below);
    let kept = builder.ins().ushr(mantissa, below);
    let back = builder.ins().ishl(kept, below);
    let lost = builder.ins().icmp(IntCC::NotEqual, back, mantissa);
    let too_large = builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, shift, i64::from(MOST_SHIFT));
    let most_above = builder.ins().iconst(types::I64, i64::from(MOST_SHIFT));
    let above = builder.ins().smax(shift, zero);
    let above = builder.ins().smin(above, most_above);
    let wide = builder.ins().uextend(types::I128, kept);
    let magnitude = builder.ins().ishl(wide, above);
    // Negated where the sign is set.
    let sign = builder.ins().sshr_imm_u(bits, 63);
    let sign = builder.ins().sextend(types::I128, sign);
    let turned = builder.ins().bxor(magnitude, sign);
    let units = builder.ins().isub(turned, sign);
    let inexact = builder.ins().bor(lost, too_large);
    (units, builder.ins().uextend(types::I64, inexact))
}
