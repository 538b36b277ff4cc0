//! Notes for the report and the host's log.

use std::fmt;

/// The severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the hook's author.
    Debug,
    /// An ordinary event.
    Info,
    /// An unwanted event.
    Warn,
    /// A failure.
    Error,
}

/// Writes one note: to `wasi:logging` in a component, to standard error natively.
#[doc(hidden)]
pub fn log(level: Level, target: &str, message: fmt::Arguments<'_>) {
    #[cfg(target_arch = "wasm32")]
    crate::component::log(level, target, &message.to_string());
    #[cfg(not(target_arch = "wasm32"))]
    {
        use std::io::Write as _;

        let name = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        // A note that cannot be written is not a reason to fail.
        drop(writeln!(std::io::stderr(), "{name}: {target}: {message}"));
    }
}

/// Notes something for the hook's author.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::__private::log($crate::Level::Debug, module_path!(), format_args!($($arg)+)) };
}

/// Notes what happened.
///
/// ```
/// hookbox_sdk::info!("turn {}", 3);
/// ```
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::__private::log($crate::Level::Info, module_path!(), format_args!($($arg)+)) };
}

/// Notes what should not have happened.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)+) => { $crate::__private::log($crate::Level::Warn, module_path!(), format_args!($($arg)+)) };
}

/// Notes what went wrong.
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::__private::log($crate::Level::Error, module_path!(), format_args!($($arg)+)) };
}
