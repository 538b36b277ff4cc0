//! Tells a Slack channel that the agent is done.

use std::time::Duration;

use hookbox_sdk::http::Request;
use hookbox_sdk::prelude::*;

/// The hook.
pub struct SlackNotify;

/// The variable with the address, which is a secret.
const VARIABLE: &str = "SLACK_WEBHOOK_URL";

/// The origin of the address.
const ORIGIN: &str = "https://hooks.slack.com";

impl Hook for SlackNotify {
    fn manifest() -> Manifest {
        Manifest::new("slack-notify", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AgentStop)
            // Late, after those that may make the agent go on.
            .priority(90)
            .capability(Capability::Env(VARIABLE.to_owned()))
            .capability(Capability::Http(ORIGIN.to_owned()))
    }

    fn agent_stop(cx: &Context, _event: &AgentStop) -> Result<Answer, Error> {
        // The end of a subagent is not news.
        let url = std::env::var(VARIABLE).unwrap_or_default();
        if url.is_empty() || cx.invoked_by != InvokedBy::Main {
            return Ok(Answer::pass());
        }
        let request = request(url, cx)?;
        let response = request.send().map_err(|error| error.within("cannot tell Slack"))?;
        if !(200..300).contains(&response.status) {
            return Err(Error::new(format!("cannot tell Slack: it answered {}", response.status)));
        }
        Ok(Answer::pass())
    }
}

fn request(url: String, cx: &Context) -> Result<Request, Error> {
    let path = url.strip_prefix(ORIGIN).unwrap_or_default();
    if !path.starts_with('/') {
        return Err(Error::new(format!("{VARIABLE} does not start with {ORIGIN}/")));
    }
    Ok(Request::post(url)
        .header("content-type", "application/json")
        .body(json!({"text": text(cx)}).to_string())
        .timeout(Duration::from_secs(2)))
}

/// Such as `The agent is done in /work/project (conversation 42).`
fn text(cx: &Context) -> String {
    let conversation = match cx.conversation_id.as_str() {
        "" => String::new(),
        id => format!(" (conversation {})", escaped(id)),
    };
    format!("The agent is done in {}{conversation}.", escaped(&cx.cwd))
}

/// A text without what Slack reads as a mention or a link.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

hookbox_sdk::export_hook!(SlackNotify);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_reads_where_and_nobody_is_mentioned() {
        let cx = |id: &str, cwd: &str| Context {
            conversation_id: id.into(),
            cwd: cwd.into(),
            ..Context::default()
        };
        assert_eq!(text(&cx("42", "/w")), "The agent is done in /w (conversation 42).");
        assert_eq!(text(&cx("", "/a&b/<!channel>")), "The agent is done in /a&amp;b/&lt;!channel&gt;.");
    }

    #[test]
    fn an_address_elsewhere_is_refused_and_not_shown() {
        for url in
            ["http://hooks.slack.com/s", "https://hooks.slack.com.evil/s", "https://hooks.slack.com", "/s"]
        {
            let error = request(url.to_owned(), &Context::default()).err().map(|error| error.to_string());
            assert_eq!(
                error.as_deref(),
                Some("SLACK_WEBHOOK_URL does not start with https://hooks.slack.com/")
            );
        }
        assert!(request("https://hooks.slack.com/services/T/B/x".to_owned(), &Context::default()).is_ok());
    }
}
