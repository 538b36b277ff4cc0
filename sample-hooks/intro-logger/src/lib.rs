//! Logs the agent's answers, but only those of one recipe.

use hookbox_sdk::prelude::*;
use hookbox_sdk::text::{Secrets, excerpt};

/// The hook.
pub struct IntroLogger;

/// The longest answer in a line, in bytes: a line with its other fields is written at once, even if every
/// character of the answer takes two in JSON.
const RESPONSE: usize = 1500;

/// The longest conversation id in a line, in bytes.
const ID: usize = 200;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The recipe whose answers are logged.
    recipe: String,
    /// The name of the file; empty: only the log.
    file: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { recipe: "intro".to_owned(), file: "intro.jsonl".to_owned() }
    }
}

impl Hook for IntroLogger {
    fn manifest() -> Manifest {
        Manifest::new("intro-logger", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::TurnEnd)
            .observe()
            .capability(log_file::right())
    }

    fn turn_end(cx: &Context, event: &TurnEnd) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let Some(line) = line(cx, event, &settings.recipe) else { return Ok(Answer::pass()) };
        hookbox_sdk::info!("{line}");
        if !settings.file.is_empty() {
            log_file::append(&settings.file, &line)?;
        }
        Ok(Answer::pass())
    }
}

/// Formats the answer as a line of JSON; `None` for another recipe, and without an answer.
fn line(cx: &Context, event: &TurnEnd, recipe: &str) -> Option<String> {
    if cx.recipe_name.as_deref() != Some(recipe) {
        return None;
    }
    let response = event.response.as_deref().map(|text| {
        let clean = Secrets::default().redact(text);
        excerpt(clean.as_deref().unwrap_or(text), RESPONSE)
    });
    let entry = json!({
        "timestamp_ms": cx.timestamp_ms,
        "recipe": excerpt(recipe, ID),
        "conv_id": excerpt(&cx.conversation_id, ID),
        "turn_number": event.turn_number,
        "response": response,
    });
    Some(entry.to_string())
}

hookbox_sdk::export_hook!(IntroLogger);

#[cfg(test)]
mod tests {
    use super::*;

    fn cx(recipe: Option<&str>) -> Context {
        Context { conversation_id: "c".into(), recipe_name: recipe.map(Into::into), ..Context::default() }
    }

    #[test]
    fn only_answers_of_the_recipe_are_logged() {
        let event = TurnEnd { response: Some("hello\nworld token=abcd1234".into()), turn_number: Some(1) };
        for (recipe, logged) in
            [(None, false), (Some("other"), false), (Some("intro2"), false), (Some("intro"), true)]
        {
            assert_eq!(line(&cx(recipe), &event, "intro").is_some(), logged, "{recipe:?}");
        }
        assert_eq!(
            line(&cx(Some("intro")), &event, "intro").unwrap(),
            r#"{"timestamp_ms":0,"recipe":"intro","conv_id":"c","turn_number":1,"response":"hello world token=[REDACTED]"}"#
        );
    }

    #[test]
    fn a_line_is_never_longer_than_what_is_written_at_once() {
        for piece in ["a", "\"", "\\", "\u{1}", "\u{202e}", "漢", "\u{1F600}"] {
            let text = piece.repeat(100_000);
            let event = TurnEnd { response: Some(text.clone()), turn_number: Some(u64::MAX) };
            let cx = Context {
                conversation_id: text.clone(),
                recipe_name: Some(text.clone()),
                ..Context::default()
            };
            let line = line(&cx, &event, &text).unwrap();
            assert!(line.len() < 4096, "{}", line.len());
            assert!(line.parse::<Value>().is_ok());
        }
    }
}
