//! What an agent sees.
