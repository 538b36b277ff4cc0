//! Plugins: where they come from, how they are installed, what they may hold.

mod fetch;
mod fetch_directory;
mod fetch_environment;
mod hostile_trees;
mod registry;
mod repository;
