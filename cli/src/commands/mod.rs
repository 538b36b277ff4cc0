//! The commands, one file each.

pub(crate) mod allow;
pub(crate) mod approve;
pub(crate) mod backtest;
pub(crate) mod bridge;
pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod compose;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod guard;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod new;
pub(crate) mod plugin;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod test;
pub(crate) mod trust;
mod watchdog;
