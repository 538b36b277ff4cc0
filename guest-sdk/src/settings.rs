//! The hook's own settings.

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error as JsonError, Value};

use crate::Error;

/// Returns the hook's own settings: its table in `hookbox.toml`, or in a native hook the JSON object in
/// `HOOKBOX_SETTINGS`. Without settings it is the default of `T`.
///
/// A setting reaches a hook as text, or as JSON text if it is not a string, and is parsed as the field of
/// `T`. Put `#[serde(default)]` on the type, so that an absent setting has its default.
///
/// ```
/// #[derive(serde::Deserialize)]
/// #[serde(default)]
/// struct Limits {
///     threshold: f64,
/// }
///
/// impl Default for Limits {
///     fn default() -> Self {
///         Self { threshold: 0.7 }
///     }
/// }
///
/// let limits: Limits = hookbox_sdk::settings()?;
/// assert_eq!(limits.threshold, 0.7);
/// # Ok::<(), hookbox_sdk::Error>(())
/// ```
///
/// # Errors
///
/// They cannot be read, or a setting does not fit its field; the error names it.
pub fn settings<T: DeserializeOwned + Default>() -> Result<T, Error> {
    #[cfg(target_arch = "wasm32")]
    let pairs = crate::component::settings()?;
    #[cfg(not(target_arch = "wasm32"))]
    let pairs = crate::native::settings()?;
    settings_from(pairs)
}

/// The settings in these pairs of a key and its text, as [`settings()`] reads them.
///
/// # Errors
///
/// A setting is not what `T` wants.
pub fn settings_from<T: DeserializeOwned + Default>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    if pairs.is_empty() {
        return Ok(T::default());
    }
    let pairs = pairs.into_iter().map(|(key, text)| (key.clone(), Setting { key, text }));
    T::deserialize(MapDeserializer::<_, JsonError>::new(pairs)).map_err(|error| Error::new(error.to_string()))
}

/// The text of one setting: the text itself for a string, else JSON.
struct Setting {
    key: String,
    text: String,
}

/// Makes an error name its setting.
fn named(key: &str) -> impl Fn(JsonError) -> JsonError {
    move |error| serde::de::Error::custom(format!("setting `{key}`: {error}"))
}

impl IntoDeserializer<'_, JsonError> for Setting {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Setting {
    type Error = JsonError;

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier
    }

    /// JSON if it is JSON, else text: a text in the place of another value is a wrong type, and not wrong JSON.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        let Self { key, text } = self;
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        value.deserialize_any(visitor).map_err(named(&key))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_string(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_string(self.text)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_string(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        if self.text == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant's name, or the JSON of a variant with data.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        let Self { key, text } = self;
        let read = if text.starts_with(['{', '"']) {
            serde_json::from_str(&text)
                .and_then(|value: Value| value.deserialize_enum(name, variants, visitor))
        } else {
            visitor.visit_enum(text.into_deserializer())
        };
        read.map_err(named(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(default)]
    struct Sample {
        threshold: f64,
        words: Vec<String>,
        reason: String,
        level: Option<u8>,
        then: Then,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Then {
        #[default]
        Compact,
        Rotate,
    }

    impl Default for Sample {
        fn default() -> Self {
            Self { threshold: 0.7, words: Vec::new(), reason: "x".into(), level: None, then: Then::Compact }
        }
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Sample, Error> {
        settings_from(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn a_setting_is_read_as_what_is_wanted() {
        assert_eq!(read(&[]).unwrap(), Sample::default());
        let pairs = [
            ("threshold", "1"),
            ("words", "[\"a b\"]"),
            ("reason", "42"),
            ("level", "3"),
            ("then", "rotate"),
        ];
        let expected = Sample {
            threshold: 1.0,
            words: vec!["a b".into()],
            reason: "42".into(),
            level: Some(3),
            then: Then::Rotate,
        };
        assert_eq!(read(&pairs).unwrap(), expected);
        assert_eq!(read(&[("unknown", "text that is not JSON")]).unwrap(), Sample::default());
        let any: std::collections::BTreeMap<String, Value> =
            settings_from(vec![("a".into(), "true".into()), ("b".into(), "plain".into())]).unwrap();
        assert_eq!((&any["a"], &any["b"]), (&Value::Bool(true), &Value::from("plain")));
    }

    #[test]
    fn an_error_names_the_setting() {
        for (key, text, part) in [
            ("threshold", "high", "setting `threshold`: invalid type: string \"high\", expected f64"),
            ("words", "\"one\"", "setting `words`: invalid type: string \"one\", expected a sequence"),
            ("words", "one two", "setting `words`: invalid type: string \"one two\", expected a sequence"),
            ("level", "300", "setting `level`: invalid value: integer `300`"),
            ("then", "stop", "setting `then`: unknown variant `stop`, expected `compact` or `rotate`"),
        ] {
            let message = read(&[(key, text)]).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
