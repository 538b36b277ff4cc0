//! For authors of hooks: projects, builds, cases and services.

pub mod cases;
pub mod project;
pub mod service;
