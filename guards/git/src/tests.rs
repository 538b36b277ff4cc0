//! What the guard denies.
