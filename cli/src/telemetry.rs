//! Telemetry of the program, when the environment asks for it.

use hookbox::manager::Builder;

#[cfg(feature = "otel")]
pub(crate) use with::{attach, flush};
#[cfg(not(feature = "otel"))]
pub(crate) use without::{attach, flush};

#[cfg(feature = "otel")]
mod with {
    use std::sync::OnceLock;

    use hookbox::telemetry::{FLUSH, Telemetry};

    use super::Builder;
    use crate::error::{hint, warn};

    /// The telemetry of this process.
    static TELEMETRY: OnceLock<Telemetry> = OnceLock::new();

    /// Makes the manager send telemetry to `OTEL_EXPORTER_OTLP_ENDPOINT`. If that fails, a warning gives the
    /// reason, and the hooks run all the same.
    pub(crate) fn attach(builder: Builder) -> Builder {
        match Telemetry::from_env("hookbox") {
            Ok(Some(telemetry)) => builder.telemetry(TELEMETRY.get_or_init(|| telemetry).clone()),
            Ok(None) => builder,
            Err(error) => {
                warn(&error);
                hint(error.hint());
                builder
            }
        }
    }

    /// Sends the recorded telemetry, in bounded time; a failure is a warning.
    pub(crate) async fn flush() {
        let Some(telemetry) = TELEMETRY.get() else { return };
        let in_time = telemetry.flush(FLUSH).await;
        if let Some(problem) = telemetry.problem() {
            warn(format_args!("telemetry: {problem}"));
        } else if !in_time {
            warn(format_args!("telemetry: the collector did not answer within {} s", FLUSH.as_secs()));
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use super::Builder;

    pub(crate) fn attach(builder: Builder) -> Builder {
        builder
    }

    pub(crate) async fn flush() {}
}
