//! The type of an open bucket, for the bindings and for their host side.

#![allow(unreachable_pub, reason = "the generated bindings export it again")]

#[cfg(feature = "store")]
pub use crate::store::Bucket;

/// An open bucket of a build without the store, which never exists.
#[cfg(not(feature = "store"))]
pub enum Bucket {}
