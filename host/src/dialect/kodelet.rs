//! The kodelet protocol.
