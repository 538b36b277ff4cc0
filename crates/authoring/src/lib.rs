//! For authors of hooks: projects, builds and cases.
