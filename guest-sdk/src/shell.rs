//! Shell lines, read as the commands that they would really run.
//!
//! ```
//! use hookbox_sdk::prelude::*;
//!
//! let cx = Context { cwd: "/srv".to_owned(), ..Context::default() };
//! let reading = cx.read_line("cd app && sudo sh -c 'rm -rf build'");
//! let run = reading.runs.iter().find(|it| it.program() == Some("rm")).unwrap();
//! assert_eq!(run.texts(), ["rm", "-rf", "build"]);
//! assert_eq!(run.directory.as_deref(), Some("/srv/app"));
//! ```

pub use hookbox_shell::{Arg, Code, Mode, Place, Reading, Redirection, Run, Sort, Unread, join_path};

use crate::{Context, ToolCall};

impl Context {
    /// Returns the commands that a line of a call would run, in the directory that the call names.
    pub fn read_line_of(&self, call: &ToolCall, line: &str) -> Reading {
        match call.directory().filter(|it| *it != self.cwd) {
            Some(directory) => self.read_line(&format!("cd {} && {line}", hookbox_shell::quoted(&directory))),
            None => self.read_line(line),
        }
    }

    /// Returns the commands that a line would run, if it begins in the directory of this event.
    ///
    /// In a component the host reads the line, once for all hooks of an event.
    pub fn read_line(&self, line: &str) -> Reading {
        #[cfg(target_arch = "wasm32")]
        return crate::component::facts::read_line(line);
        #[cfg(not(target_arch = "wasm32"))]
        {
            let cwd = Some(self.cwd.as_str()).filter(|it| it.starts_with('/'));
            hookbox_shell::runs(line, &hookbox_shell::Known { cwd, ..Default::default() })
        }
    }
}
