//! Finds secrets in a text by the names before them: `password=…`, `--token …`, `<password>…`.
//!
//! It has no dependencies and builds for `wasm32-wasip2`, so that the host and a hook recognize the same
//! secrets.
//!
//! ```
//! let text = "user=me password=hunter2";
//! let secrets = hookbox_redact::find(text, &hookbox_redact::classify);
//! assert_eq!(&text[secrets[0].clone()], "hunter2");
//! ```

mod named;
mod names;
mod values;

pub use named::find;
pub use names::{Sensitivity, classify, is_marker};
pub use values::looks_secret;
