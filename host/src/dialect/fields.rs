//! Reads a JSON object field by field. `null` counts as absent, an error names the expected and the found
//! type, and fields that were not read are left over.

use serde_json::{Map, Value};

use crate::event::{AbsentTokens, Context, Document, ErrorSource, Role, TokenBudget, ToolCall, Usage};
use crate::outcome::Callback;
use hookbox_system::text;

/// A field with a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field:?} must be {expected}, found {found}")]
pub struct PayloadError {
    /// The field, such as `usage.input_tokens`.
    pub field: String,
    /// The expected value, such as `a string`.
    pub expected: String,
    /// The found value, cut and escaped, such as `5` or `an array`.
    pub found: String,
}

impl PayloadError {
    /// Creates the error of a field.
    pub fn new(field: impl Into<String>, expected: impl Into<String>, found: &Value) -> Self {
        Self { field: field.into(), expected: expected.into(), found: describe(found) }
    }
}

/// A value in a few words.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("\"{}\"", text::escape(text, 40)),
        scalar => scalar.to_string(),
    }
}

/// The fields of an object that were not read yet.
pub struct Fields {
    /// The prefix of the names of a nested object's fields, such as `usage.`.
    prefix: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Creates the fields of an object.
    pub fn new(map: Map<String, Value>) -> Self {
        Self { prefix: String::new(), map }
    }

    /// Returns the prefix of the field names, such as `usage.`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A value of any type.
    pub fn any(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Reads a value with `convert`, which returns a value that it cannot take.
    pub fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        convert: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<Option<T>, PayloadError> {
        self.any(name).map(convert).transpose().map_err(|found| self.error(name, expected, &found))
    }

    /// Returns the error of a field that has another value than the expected one.
    pub fn error(&self, name: &str, expected: &str, found: &Value) -> PayloadError {
        PayloadError::new(format!("{}{name}", self.prefix), expected, found)
    }

    /// Reads a string.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, PayloadError> {
        self.read(name, "a string", into_text)
    }

    /// Reads `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, PayloadError> {
        self.read(name, "true or false", |value| value.as_bool().ok_or(value))
    }

    /// Reads a number that fits `T`. A whole number may be written with a fraction of zero: some languages
    /// have only floats.
    pub fn whole<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Option<T>, PayloadError> {
        self.read(name, "a whole number in range", |value| {
            whole(&value).and_then(|number| T::try_from(number).ok()).ok_or(value)
        })
    }

    /// Reads a number.
    pub fn number(&mut self, name: &str) -> Result<Option<f64>, PayloadError> {
        self.read(name, "a number", |value| value.as_f64().ok_or(value))
    }

    /// A share of the context window.
    pub fn share(&mut self, name: &str) -> Result<Option<f64>, PayloadError> {
        self.read(name, "a number from 0 to 1", |value| {
            value.as_f64().filter(|share| (0.0..=1.0).contains(share)).ok_or(value)
        })
    }

    /// Reads the number of the attempt; the first one is 1.
    pub fn attempt(&mut self) -> Result<Option<u32>, PayloadError> {
        self.read("attempt", "a whole number from 1", |value| {
            let number = whole(&value).and_then(|number| u32::try_from(number).ok());
            number.filter(|attempt| *attempt > 0).ok_or(value)
        })
    }

    /// Reads an array.
    pub fn array(&mut self, name: &str) -> Result<Option<Value>, PayloadError> {
        self.read(name, "an array", |value| if value.is_array() { Ok(value) } else { Err(value) })
    }

    /// An array of messages; absent if it is not given.
    pub fn messages(&mut self, name: &str) -> Result<Document, PayloadError> {
        let messages = self.array(name)?.unwrap_or_default();
        for (at, item) in messages.as_array().into_iter().flatten().enumerate() {
            self.message(name, at, item)?;
        }
        Ok(messages.into())
    }

    /// One message of the array `name`.
    pub fn message<'v>(
        &self,
        name: &str,
        at: usize,
        item: &'v Value,
    ) -> Result<(Role, &'v str), PayloadError> {
        let place = |field: &str| format!("{name}[{at}]{field}");
        let Value::Object(map) = item else {
            return Err(self.error(&place(""), "an object with a role and a content", item));
        };
        let given = |field: &str| map.get(field).unwrap_or(&Value::Null);
        let (role, content) = (given("role"), given("content"));
        let role = role
            .as_str()
            .and_then(Role::from_name)
            .ok_or_else(|| self.error(&place(".role"), Role::NAMES, role))?;
        let content = content.as_str().ok_or_else(|| self.error(&place(".content"), "a string", content))?;
        Ok((role, content))
    }

    /// Reads an object.
    pub fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, PayloadError> {
        self.read(name, "an object", |value| match value {
            Value::Object(map) => Ok(map),
            other => Err(other),
        })
    }

    /// An array of strings.
    pub fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, PayloadError> {
        let Some(items) = self.array(name)? else { return Ok(None) };
        let Value::Array(items) = items else { return Ok(None) };
        let texts = items.into_iter().enumerate().map(|(at, item)| {
            into_text(item).map_err(|found| self.error(&format!("{name}[{at}]"), "a string", &found))
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// An object with fields of its own.
    pub fn nested(&mut self, name: &str) -> Result<Option<Self>, PayloadError> {
        let prefix = format!("{}{name}.", self.prefix);
        Ok(self.object(name)?.map(|map| Self { prefix, map }))
    }

    /// kodelet's `UsageInfo`. What else it holds, such as costs, is of no interest.
    pub fn usage(&mut self, name: &str) -> Result<Option<Usage>, PayloadError> {
        let Some(mut usage) = self.nested(name)? else { return Ok(None) };
        let mut absent = AbsentTokens::default();
        let mut read = |name: &str, is_absent: &mut bool| -> Result<u64, PayloadError> {
            let number = usage.whole(name)?;
            *is_absent = number.is_none();
            Ok(number.unwrap_or_default())
        };
        Ok(Some(Usage {
            input_tokens: read("input_tokens", &mut absent.input_tokens)?,
            output_tokens: read("output_tokens", &mut absent.output_tokens)?,
            current_context_window: read("current_context_window", &mut absent.current_context_window)?,
            max_context_window: read("max_context_window", &mut absent.max_context_window)?,
            absent,
        }))
    }

    /// A time: milliseconds since 1970, or RFC 3339.
    pub fn timestamp(&mut self) -> Result<Option<u64>, PayloadError> {
        let expected = "milliseconds since 1970 or a time such as \"2025-04-27T18:42:31Z\"";
        self.read("timestamp", expected, |value| {
            let ms = match &value {
                Value::String(text) => {
                    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
                }
                other => other.as_i64(),
            };
            ms.and_then(|ms| u64::try_from(ms).ok()).ok_or(value)
        })
    }

    /// The token budget, in either spelling.
    pub fn budget(&mut self) -> Result<Option<TokenBudget>, PayloadError> {
        let Some(mut budget) = self.nested("budget")? else { return Ok(None) };
        let mut whole = |name: &str, other: &str| match budget.whole(name)? {
            None => budget.whole(other),
            some => Ok(some),
        };
        let (used, limit) =
            (whole("used_tokens", "usedTokens")?, whole("effective_limit", "effectiveLimit")?);
        // A budget needs both numbers.
        Ok(used.zip(limit).map(|(used_tokens, effective_limit)| TokenBudget { used_tokens, effective_limit }))
    }

    /// Reads the fields of the context that have one name in both dialects; an absent one is that of `base`.
    pub fn context(&mut self, base: &Context) -> Result<Context, PayloadError> {
        let base = base.clone();
        Ok(Context {
            agent: self.text("agent")?.or(base.agent),
            repository: self.text("repository")?.or(base.repository),
            branch: self.text("branch")?.or(base.branch),
            mode: self.text("mode")?.or(base.mode),
            timestamp_ms: self.timestamp()?.unwrap_or(base.timestamp_ms),
            budget: self.budget()?.or(base.budget),
            ..base
        })
    }

    /// Reads the source of an error. If it is absent, the other values decide.
    pub fn error_source(
        &mut self,
        call: ToolCall,
        turn_number: Option<u64>,
        hook: Option<String>,
    ) -> Result<ErrorSource, PayloadError> {
        let source = self.read("source", "\"tool\", \"turn\" or \"hook\"", |value| match value.as_str() {
            Some("tool" | "turn" | "hook") => into_text(value),
            _ => Err(value),
        })?;
        Ok(match (source.as_deref(), hook) {
            (Some("tool"), _) => ErrorSource::Tool(call),
            (Some("turn"), _) => ErrorSource::Turn(turn_number),
            (Some(_), hook) => ErrorSource::Hook(hook.unwrap_or_default()),
            (None, Some(hook)) => ErrorSource::Hook(hook),
            (None, None) if call.name.is_empty() && call.input.is_absent() => ErrorSource::Turn(turn_number),
            (None, None) => ErrorSource::Tool(call),
        })
    }

    /// Returns the fields that were not read.
    pub fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Returns the names of the fields that were not read, with their prefix.
    pub fn names(&self) -> Vec<String> {
        self.map.keys().map(|name| format!("{}{name}", self.prefix)).collect()
    }
}

/// An object that is written: an absent value leaves its field out, and so does one that JSON does not have, such as NaN.
#[derive(Default)]
pub(crate) struct Written(pub(crate) Map<String, Value>);

impl Written {
    pub(crate) fn put(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value.map(Into::into).filter(|value| !value.is_null()) {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Writes a list that has an item.
    pub(crate) fn list(&mut self, name: &str, items: &[String]) {
        self.put(name, Some(items).filter(|items| !items.is_empty()));
    }

    /// Writes a callback; its arguments have this name.
    pub(crate) fn callback(&mut self, callback: &Callback, arguments: &str) {
        self.put("callback", Some(callback.name.as_str()));
        let args: Map<String, Value> =
            callback.args.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        self.put(arguments, Some(args).filter(|args| !args.is_empty()));
    }
}

fn into_text(value: Value) -> Result<String, Value> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    }
}

/// Numbers above this are not exact as floats.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

fn whole(value: &Value) -> Option<i128> {
    if let Some(number) = value.as_u64() {
        return Some(i128::from(number));
    }
    if let Some(number) = value.as_i64() {
        return Some(i128::from(number));
    }
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= MAX_EXACT)?;
    // Exact, as it is a whole number within the range just checked.
    Some(number as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::new(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_found() {
        let mut some = fields(json!({"a": 5, "b": ["x", {}], "c": {"input_tokens": -1}, "d": "\u{1b}[0m"}));
        for (error, want) in [
            (some.text("a").err(), "\"a\" must be a string, found 5"),
            (some.texts("b").err(), "\"b[1]\" must be a string, found an object"),
            (some.usage("c").err(), "\"c.input_tokens\" must be a whole number in range, found -1"),
            (some.flag("d").err(), "\"d\" must be true or false, found \"\\u{1b}[0m\""),
        ] {
            assert_eq!(error.unwrap().to_string(), want);
        }
    }

    #[test]
    fn a_share_lies_in_the_window_and_attempts_are_counted_from_one() {
        for (value, fits) in [
            (json!(0), true),
            (json!(0.8), true),
            (json!(1), true),
            (json!(1.000_1), false),
            (json!(-0.1), false),
            (json!(80), false),
            (json!(1e300), false),
        ] {
            let share = fields(json!({"threshold": value})).share("threshold");
            assert_eq!(share.is_ok(), fits, "{value}");
            if let Err(error) = share {
                assert_eq!(error.expected, "a number from 0 to 1");
            }
        }
        for (value, fits) in [(json!(1), true), (json!(2.0), true), (json!(0), false), (json!(-1), false)] {
            let attempt = fields(json!({"attempt": value})).attempt();
            assert_eq!(attempt.is_ok(), fits, "{value}");
            if let Err(error) = attempt {
                assert_eq!(error.expected, "a whole number from 1");
            }
        }
    }

    #[test]
    fn null_is_not_given_and_the_rest_keeps_its_order() {
        let mut some = fields(json!({"z": 1, "a": null, "b": 2, "y": null}));
        assert_eq!(some.text("a"), Ok(None));
        assert_eq!(some.whole::<u64>("b"), Ok(Some(2)));
        assert_eq!(some.names(), ["z", "y"]);
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let mut some = fields(json!({"a": 3.0, "b": 3.5, "c": 1e300, "d": -2, "e": 256}));
        assert_eq!(some.whole::<u64>("a"), Ok(Some(3)));
        assert!(some.whole::<u64>("b").is_err() && some.whole::<u64>("c").is_err());
        assert_eq!(some.whole::<i32>("d"), Ok(Some(-2)));
        assert!(some.whole::<u8>("e").is_err());
    }
}
