//! Cursor.

pub(crate) mod hook;
pub(crate) mod reply;
