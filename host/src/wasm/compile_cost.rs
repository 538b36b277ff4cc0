//! The cost of compiling a component, estimated before it is compiled.
//!
//! The compiler works on one function at a time, one per core, and its memory grows with the size of the
//! function. So the size of the file bounds the compiled code, and the size of the largest function bounds
//! the rest.

use wasmparser::{Parser, Payload};

use crate::hook::{Cause, HookError, LimitKind};

/// The largest function, in bytes: ten times the largest of an interpreter (the loops of CPython and QuickJS
/// have about 100 KB).
const MAX_FUNCTION: u64 = 1 << 20;

/// Checks that no function of a component is too large to be compiled. The compiler reports an invalid
/// component.
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
