//! The Base Coat hook specification.
