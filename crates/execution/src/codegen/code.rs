//! Memory with machine code. It is writable while code is put into it and executable after, never both; it is freed with
//! the plan that it belongs to.

use crate::codegen::defect;
use crate::codegen::frame::Frame;
use crate::data::lookup_table::Cells;
use crate::{Error, Result};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Set in a loop's result when a value left its limits; the rest is a count of records.
pub(super) const OVERFLOW: u64 = 1 << 63;

/// A loop in the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopEntry(usize);

/// Loops that were compiled together.
pub(super) struct Code {
    /// Always there until it is dropped.
    module: Option<JITModule>,
    added: Vec<FuncId>,
    /// Addresses of the loops, once finished.
    addresses: Vec<*const u8>,
    bytes: usize,
    /// What was compiled, in Cranelift's words and in the machine's, where it is kept.
    text: Option<String>,
    /// What the loops read beside their frames, at addresses that are compiled in.
    _cells: Vec<Arc<Cells>>,
}

// SAFETY: the addresses are those of memory that the module owns and that nobody writes once it is finished; calling code
// there from several threads at once is what it is made for. The module itself is used by `add` and `finish`, which take
// `&mut self`, and by `drop`.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("loops", &self.added.len()).field("bytes", &self.bytes).finish()
    }
}

impl Code {
    /// No code yet. It may read these cells.
    pub(super) fn new(cells: &[Arc<Cells>], keeps_text: bool) -> Result<Self> {
        let builder = JITBuilder::with_isa(target()?, default_libcall_names());
        let module = Some(JITModule::new(builder));
        Ok(Self {
            module,
            added: Vec::new(),
            addresses: Vec::new(),
            bytes: 0,
            text: keeps_text.then(String::new),
            _cells: cells.to_vec(),
        })
    }

    /// Compiles a function that `emit` writes: it takes the address of a frame and gives 64 bits.
    pub(super) fn add(&mut self, emit: impl FnOnce(&mut FunctionBuilder<'_>, Type) -> Result<()>) -> Result<LoopEntry> {
        let Some(module) = &mut self.module else { return Err(defect("the module is gone")) };
        let config = module.target_config();
        let pointer = config.pointer_type();
        let mut signature = Signature::new(config.default_call_conv);
        signature.params.push(AbiParam::new(pointer));
        signature.returns.push(AbiParam::new(types::I64));
        let name = format!("stage{}", self.added.len());
        let id = module.declare_function(&name, Linkage::Local, &signature).map_err(defect)?;
        let mut context = Context::new();
        context.func.signature = signature;
        let mut frontend = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        emit(&mut builder, pointer)?;
        builder.finalize(config);
        if let Some(text) = &mut self.text {
            *text += &context.func.display().to_string();
            context.set_disasm(true);
        }
        module.define_function(id, &mut context).map_err(|error| defect(format!("{error:?}")))?;
        self.bytes += context.compiled_code().map_or(0, |code| code.code_buffer().len());
        if let (Some(text), Some(code)) = (&mut self.text, context.compiled_code().and_then(|code| code.vcode.as_ref()))
        {
            *text += code;
        }
        self.added.push(id);
        Ok(LoopEntry(self.added.len() - 1))
    }

    /// Makes the code executable.
    pub(super) fn finish(&mut self) -> Result<()> {
        let Some(module) = &mut self.module else { return Err(defect("the module is gone")) };
        module.finalize_definitions().map_err(defect)?;
        self.addresses = self.added.iter().map(|id| module.get_finalized_function(*id)).collect();
        Ok(())
    }

    /// What was compiled, if it is kept.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Bytes of machine code.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Runs a loop over a frame. Gives the records that passed; fails when a value left its limits.
    ///
    /// # Safety
    /// The states and staging vectors that the frame was last given must still lie where they did, and the loop be one of
    /// the plan and variant that the frame was made for.
    pub(super) unsafe fn call(&self, entry: LoopEntry, frame: &Frame<'_>) -> Result<usize> {
        if frame.is_empty() {
            return Ok(0);
        }
        let address = self.addresses.get(entry.0).ok_or_else(|| defect("the code is not finished"))?;
        // SAFETY: the address is that of a finished function which `add` gave this signature.
        let stage: unsafe extern "C" fn(*const u64) -> u64 = unsafe { std::mem::transmute(*address) };
        // SAFETY: the code reads and writes only where the frame's addresses lead: codes, integers and validity bits at
        // records whose last was checked against their slices' lengths by `Frame::new`, places and positions below the
        // frame's rows, and words at places that were cut to the states' last or given by their table. Slots and keys of key
        // tables were cut to their last; links, lists and rows come from tables that were made of these rows, and the
        // inputs that rows belong to were checked to hold all of them. That they lie there still is the caller's
        // promise. Cells of lookup tables are read at indices that were cut to their last; they
        // never change, and are kept here.
        let result = unsafe { stage(frame.as_ptr()) };
        if result & OVERFLOW != 0 { Err(Error::Overflow) } else { Ok(result as usize) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: loops are called through `&self`, so none runs now, and no address of one is kept elsewhere.
            unsafe { module.free_memory() };
        }
    }
}

/// This machine, found once.
fn target() -> Result<OwnedTargetIsa> {
    static TARGET: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    let make = || {
        let mut flags = settings::builder();
        let mut set = |name, value| flags.set(name, value).map_err(|error| error.to_string());
        set("opt_level", "speed")?;
        set("is_pic", "false")?;
        set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
        let isa = cranelift_native::builder()?;
        isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
    };
    TARGET.get_or_init(make).clone().map_err(defect)
}
