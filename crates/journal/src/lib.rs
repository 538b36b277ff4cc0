//! The past of agents: the tool calls in the [session files](session_files) that they keep, and the
//! [verdicts](backtest) that a policy would have given on them.

pub mod backtest;
pub mod session_files;
