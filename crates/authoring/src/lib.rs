//! For authors of hooks: projects, builds and cases.

pub mod cases;
pub mod project;
