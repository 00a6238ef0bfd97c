//! The search for a key in a key table, one record at a time: what a loop without a boundary before a probe does, where a
//! kernel would look for the keys of a whole vector.

use crate::Result;
use crate::codegen::frame::{TABLE_WORDS, table_word};
use crate::codegen::stage::scaled;
use crate::codegen::steps::{element, trusted};
use crate::codegen::{Variant, defect};
use crate::operators::join::TableKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use gingham_kernels::hash::{HashFunction, Key, Mix};
use gingham_kernels::key_table::NONE;

/// A key table as a loop sees it.
pub(super) struct TableAccess {
    kind: TableKind,
    /// Address of its links or entries.
    place: Value,
    /// The last of them.
    last: Value,
    /// What leaves of a hash the number of a slot.
    shift: Value,
    /// Address of the lists of rows that share a key.
    pub(super) lists: Value,
    /// The row of NULLs behind the rows.
    pub(super) nulls: Value,
    /// Address of the marks of its rows.
    pub(super) marks: Value,
}

impl TableAccess {
    /// Reads the words of the `number`th table of a frame.
    pub(super) fn begin(
        builder: &mut FunctionBuilder<'_>,
        frame: Value,
        (variant, outputs): (&Variant, usize),
        number: usize,
        kind: TableKind,
    ) -> Self {
        let first = table_word(variant, outputs, number);
        let words: [Value; TABLE_WORDS] =
            std::array::from_fn(|word| builder.ins().load(types::I64, trusted(), frame, (first + word) as i32 * 8));
        let [place, last, shift, lists, nulls, marks] = words;
        Self { kind, place, last, shift, lists, nulls, marks }
    }

    /// The link of a key: [`NONE`], a row, or where its rows are listed.
    pub(super) fn find(&self, builder: &mut FunctionBuilder<'_>, key: Value) -> Result<Value> {
        match self.kind {
            TableKind::Dense => {
                // Behind the links of the range's keys is that of all others.
                let place = builder.ins().umin(key, self.last);
                element(builder, self.place, place, 4)
            }
            TableKind::Short(function) => {
                let key = builder.ins().ireduce(types::I32, key);
                self.search::<u32>(builder, key, types::I32, function)
            }
            TableKind::Long(function) => self.search::<u64>(builder, key, types::I64, function),
        }
    }

    /// Sets the mark of a row.
    pub(super) fn mark(&self, builder: &mut FunctionBuilder<'_>, row: Value) {
        let word = builder.ins().ushr_imm_u(row, 6);
        let place = scaled(builder, self.marks, word, 8);
        let before = builder.ins().load(types::I64, trusted(), place, 0);
        let one = builder.ins().iconst(types::I64, 1);
        let within = builder.ins().band_imm_u(row, 63);
        let bit = builder.ins().ishl(one, within);
        let after = builder.ins().bor(before, bit);
        builder.ins().store(trusted(), after, place, 0);
    }

    /// Slot by slot, from the home slot on, to the key or an empty one.
    fn search<K: Key>(
        &self,
        builder: &mut FunctionBuilder<'_>,
        key: Value,
        width: Type,
        function: HashFunction,
    ) -> Result<Value> {
        let hash = hash::<K>(builder, key, function)?;
        let home = builder.ins().ushr(hash, self.shift);
        let home = if width == types::I32 { builder.ins().uextend(types::I64, home) } else { home };
        let [search, other, done] = std::array::from_fn(|_| builder.create_block());
        let slot = builder.append_block_param(search, types::I64);
        let link = builder.append_block_param(done, types::I64);
        builder.ins().jump(search, &[BlockArg::Value(home)]);
        builder.switch_to_block(search);
        let within = builder.ins().band(slot, self.last);
        let bytes = i64::from(width.bytes());
        let entry = builder.ins().imul_imm_s(within, bytes * 2);
        let entry = builder.ins().iadd(self.place, entry);
        let found = builder.ins().load(width, trusted(), entry, 0);
        let linked = builder.ins().uload32(trusted(), entry, bytes as i32);
        let equal = builder.ins().icmp(IntCC::Equal, found, key);
        builder.ins().brif(equal, done, &[BlockArg::Value(linked)], other, &[] as &[BlockArg]);
        builder.switch_to_block(other);
        let empty = builder.ins().icmp_imm_u(IntCC::Equal, linked, i64::from(NONE));
        let next = builder.ins().iadd_imm_s(within, 1);
        builder.ins().brif(empty, done, &[BlockArg::Value(linked)], search, &[BlockArg::Value(next)]);
        builder.switch_to_block(done);
        Ok(link)
    }
}

fn hash<K: Key>(builder: &mut FunctionBuilder<'_>, key: Value, function: HashFunction) -> Result<Value> {
    let mixes = function.mixes::<K>().ok_or_else(|| defect(format!("the hash function {}", function.name())))?;
    let mix = |value: Value, mix: &Mix| match *mix {
        Mix::Times(factor) => builder.ins().imul_imm_u(value, factor as i64),
        Mix::Fold(bits) => {
            let shifted = builder.ins().ushr_imm_u(value, i64::from(bits));
            builder.ins().bxor(value, shifted)
        }
    };
    Ok(mixes.iter().fold(key, mix))
}
