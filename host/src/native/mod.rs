//! Native hooks.
