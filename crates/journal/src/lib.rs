//! The past of agents: the [journal] of events and verdicts, the tool calls in the [session files](session_files) that
//! agents keep, and the [verdicts](backtest) that a policy would have given on them.

pub mod backtest;
pub mod journal;
pub mod session_files;
