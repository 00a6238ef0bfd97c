//! Floats as instructions: what [`crate::program::float`] does, one value at a time.

use crate::program::expression::FloatArithmetic;
use crate::program::float::{MOST_SHIFT, power_of_ten};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The other bits of a negative one, turned: a float's bits to the integer that orders as it does, and back.
fn turned(builder: &mut FunctionBuilder<'_>, bits: Value) -> Value {
    let sign = builder.ins().sshr_imm_u(bits, 63);
    let others = builder.ins().ushr_imm_u(sign, 1);
    builder.ins().bxor(bits, others)
}

fn float(builder: &mut FunctionBuilder<'_>, ordered: Value) -> Value {
    let bits = turned(builder, ordered);
    builder.ins().bitcast(types::F64, MemFlagsData::new(), bits)
}

fn ordered(builder: &mut FunctionBuilder<'_>, float: Value) -> Value {
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
    let (left, right) = (float(builder, left), float(builder, right));
    let result = match operator {
        FloatArithmetic::Add => builder.ins().fadd(left, right),
        FloatArithmetic::Subtract => builder.ins().fsub(left, right),
        FloatArithmetic::Multiply => builder.ins().fmul(left, right),
        FloatArithmetic::Divide => builder.ins().fdiv(left, right),
    };
    ordered(builder, result)
}

/// An integer with so many digits behind the point.
pub(super) fn of_scaled(builder: &mut FunctionBuilder<'_>, value: Value, digits: u32) -> Value {
    let mut result = builder.ins().fcvt_from_sint(types::F64, value);
    if digits > 0 {
        let scale = builder.ins().f64const(power_of_ten(digits));
        result = builder.ins().fdiv(result, scale);
    }
    ordered(builder, result)
}

/// How many units a float is, in 128 bits, and 1 where that is no integer of a size that was foreseen.
pub(super) fn units(builder: &mut FunctionBuilder<'_>, value: Value, unit: i32) -> (Value, Value) {
    let bits = turned(builder, value);
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
