//! What compiling a component would take, before it is compiled.
//!
//! The compiler works on a function at a time, one per core, and what it holds grows with the size of the function. So
//! the size of the file bounds the compiled code, and the size of the largest function bounds the rest.

use wasmparser::{Parser, Payload};

use crate::hook::HookError;
use crate::report::{Cause, LimitKind};

/// How large one function may be, in bytes: ten times the largest of an interpreter (the loops of CPython and QuickJS
/// have about 100 KB).
const MAX_FUNCTION: u64 = 1 << 20;

/// Checks that no function of a component is too large to be compiled. What is no valid component is left for the
/// compiler to say.
pub(super) fn check(bytes: &[u8]) -> Result<(), HookError> {
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { return Ok(()) };
        if let Payload::CodeSectionEntry(body) = payload {
            let size = body.range().len() as u64;
            if size > MAX_FUNCTION {
                let what = format!("has a function of {size} bytes, {MAX_FUNCTION} are allowed");
                let of = LimitKind::Function;
                return Err(HookError::exceeded(Cause::Incompatible, of, MAX_FUNCTION, Some(size), what));
            }
        }
    }
    Ok(())
}
