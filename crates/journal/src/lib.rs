//! The past of agents: the [journal] of events and verdicts, the tool calls in the [session files](session_files) that
//! agents keep, the [verdicts](backtest) that a policy would have given on them, recorded hooks [run again](replay), and a
//! [report] of all that.

pub mod backtest;
pub mod journal;
pub mod replay;
pub mod report;
pub mod session_files;
