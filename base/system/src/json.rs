//! Reads JSON that is odd in places. A model writes half an emoji, a number beyond every float or a thousand
//! brackets, and programs write a byte order mark or Python's `NaN`. No guard is skipped because its input is
//! odd, and no block is lost because of an odd field beside it.

#![doc(hidden)]

mod integers;

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use integers::{exact, is_rounded};

/// The greatest depth of a value that is read unchanged. Parsers of JSON often stop at 128 levels, and a hook
/// reads the value inside an envelope.
const MAX_NESTED: usize = 120;

/// The number of levels that are searched for readable parts, if the value as a whole cannot be read. Each
/// level is read once more, so that this is a factor of the time.
const MAX_LEVELS: usize = 16;

/// Returns about the size of a value as JSON, in bytes.
pub fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, it)| name.len() + size(it) + 4).sum::<usize>() + 2,
        _ => 8,
    }
}

/// Reads one JSON object in the order of its fields. A name may be there twice, and bytes that are not UTF-8
/// count as U+FFFD. UTF-16 with a byte order mark is read, too. Byte order marks before it are skipped; `NaN`,
/// `Infinity` and `-Infinity` count as JSON strings of these words.
///
/// # Errors
///
/// Anything but exactly one object: a syntax error, another type, a cut text, a second value.
pub fn object(text: &[u8]) -> Result<Vec<(String, Box<RawValue>)>, serde_json::Error> {
    let text = decoded(text);
    let text = unmarked(&text);
    let quoted: Cow<'_, str>;
    let Members(members) = match serde_json::from_str(text) {
        Ok(members) => members,
        Err(error) => {
            quoted = with_words_quoted(text);
            serde_json::from_str(&quoted).map_err(|_| error)?
        }
    };
    Ok(members.into_iter().map(|(name, raw)| (self::text(name.get()), raw.to_owned())).collect())
}

/// Reads a value. A part that cannot be represented becomes a JSON string of its raw text, so that the parts
/// beside it are still found. Half a surrogate pair in a string becomes U+FFFD.
pub fn value(raw: &RawValue) -> Value {
    read(raw.get(), 0)
}

/// Reads a text that should be JSON, such as the arguments that a model wrote. A text that is not JSON
/// becomes a JSON string; one that is odd in places is read as [`value`] reads it.
pub fn from_model(text: &str) -> Value {
    let odd = || {
        let quoted = with_words_quoted(unmarked(text));
        serde_json::from_str::<&RawValue>(&quoted).map_or_else(|_| Value::from(text), value)
    };
    serde_json::from_str::<&RawValue>(text).map_or_else(|_| odd(), value)
}

/// Returns the text of these bytes. PowerShell writes UTF-16 with a byte order mark into a pipe or a file.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(bytes),
    };
    let units = bytes.as_chunks().0.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Returns the text after its byte order marks.
fn unmarked(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// Puts the words in quotes that programs write for numbers which JSON does not have. Strings stay as they
/// are.
fn with_words_quoted(text: &str) -> Cow<'_, str> {
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?s)"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)"#).ok());
    let quote = |found: &Captures<'_>| match found.get(1) {
        Some(word) => format!("\"{}\"", word.as_str()),
        None => found.get(0).map_or_else(String::new, |string| string.as_str().to_owned()),
    };
    WORD.as_ref().map_or(Cow::Borrowed(text), |word| word.replace_all(text, quote))
}

/// Reads a value that can be represented completely.
///
/// # Errors
///
/// The mistake, in words that follow the name of the field.
pub fn strict(raw: &RawValue) -> Result<Value, String> {
    parse(raw.get(), 0).map_err(|error| {
        // The position in the field means nothing to the reader of the message.
        let error = error.to_string();
        error.split_once(" at line ").map_or(error.as_str(), |(what, _)| what).to_owned()
    })
}

/// Reads a value so many levels below the outermost one.
fn read(raw: &str, level: usize) -> Value {
    if let Ok(value) = parse(raw, level) {
        return value;
    }
    if raw.starts_with('"') {
        return Value::String(text(raw));
    }
    if level < MAX_LEVELS {
        if let Ok(Members(members)) = serde_json::from_str(raw) {
            let read = members.into_iter().map(|(name, raw)| (text(name.get()), read(raw.get(), level + 1)));
            return Value::Object(read.collect::<Map<_, _>>());
        }
        if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) {
            return items.into_iter().map(|raw| read(raw.get(), level + 1)).collect();
        }
    }
    Value::String(raw.to_owned())
}

fn parse(raw: &str, level: usize) -> Result<Value, serde_json::Error> {
    if level + nested(raw) > MAX_NESTED {
        return Err(serde::de::Error::custom(format_args!("nested more than {MAX_NESTED} levels deep")));
    }
    serde_json::from_str(raw).map(|Plain(value)| value)
}

/// A value, read literally. `Value` itself reads an object with a name that serde_json reserves for
/// [`RawValue`] as the JSON in its text. So the author of a tool's input could show a guard another value, or
/// hide how deep it is nested.
struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Plain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Plain, E> {
                Ok(Plain(Value::Null))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
                Ok(Plain(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Plain, A::Error> {
                let mut items = Vec::new();
                while let Some(Plain(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Plain(Value::Array(items)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Plain, A::Error> {
                let mut object = Map::new();
                while let Some((name, Plain(value))) = map.next_entry::<String, Plain>()? {
                    object.insert(name, value);
                }
                Ok(Plain(Value::Object(object)))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// Returns how deep the brackets of this JSON are nested.
pub fn nested(raw: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in raw.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Decodes a JSON string.
pub fn text(raw: &str) -> String {
    serde_json::from_str(raw)
        .or_else(|_| serde_json::from_str(&paired(raw)))
        .unwrap_or_else(|_| raw.to_owned())
}

/// Replaces each half of a surrogate pair without its other half by U+FFFD, in a JSON string.
fn paired(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let whole = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => 0,
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        match escape.split_at_checked(whole) {
            Some(("", _)) => {
                out.push('\u{fffd}');
                rest = escape.get(6..).unwrap_or_default();
            }
            Some((escape, after)) => {
                out.push_str(escape);
                rest = after;
            }
            None => break,
        }
    }
    out.push_str(rest);
    out
}

/// Reads the code unit of the `\uHHHH` at the beginning.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The fields of an object, name and value as raw text.
pub struct Members<'a>(pub Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, raw)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((name, raw));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The object of what can be read.
    fn values(text: &[u8]) -> Value {
        object(text).unwrap().into_iter().map(|(name, raw)| (name, value(&raw))).collect()
    }

    #[test]
    fn what_can_be_read_is_read_as_ever() {
        let text = r#" {"b":[1,-2,2.5,18446744073709551616,{"x":null,"y":false}],"a":"\ud83d\ude00 \u00e9\n\\ud800","":true} "#;
        assert_eq!(
            values(text.as_bytes()).to_string(),
            serde_json::from_str::<Value>(text).unwrap().to_string()
        );
    }

    #[test]
    fn what_cannot_be_represented_becomes_text_in_its_place() {
        for (text, want) in [
            (&br#"{"a":"\ud800 sudo rm"}"#[..], json!({"a": "\u{fffd} sudo rm"})),
            (br#"{"a":"x\ud83d"}"#, json!({"a": "x\u{fffd}"})),
            (br#"{"a":"\ude00\ud83d\ud83d\ude00\u0073"}"#, json!({"a": "\u{fffd}\u{fffd}\u{1f600}s"})),
            (br#"{"a":"\\\ud800\\ud800\""}"#, json!({"a": "\\\u{fffd}\\ud800\""})),
            (
                br#"{"a":{"command":"\ud800 \u0073udo rm","t":5}}"#,
                json!({"a": {"command": "\u{fffd} sudo rm", "t": 5}}),
            ),
            (
                br#"{"a":{"command":"sudo rm","t":[1e999,1]}}"#,
                json!({"a": {"command": "sudo rm", "t": ["1e999", 1]}}),
            ),
            (br#"{"a":-1e999}"#, json!({"a": "-1e999"})),
            (b"{\"a\":\"sudo \xff\"}", json!({"a": "sudo \u{fffd}"})),
            (br#"{"\ud800":1}"#, json!({"\u{fffd}": 1})),
            (b"\xef\xbb\xbf{\"a\":1}", json!({"a": 1})),
            (
                br#"{"a":NaN,"b":[-Infinity, Infinity ,1e2]}"#,
                json!({"a": "NaN", "b": ["-Infinity", "Infinity", 1e2]}),
            ),
            (br#"{"a\"":"x\"NaN\\","n":NaN}"#, json!({"a\"": "x\"NaN\\", "n": "NaN"})),
        ] {
            assert_eq!(values(text), want, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_models_words_for_numbers_are_text_and_the_rest_is_read() {
        for (text, want) in [
            (r#"{"command":"rm","t":NaN}"#, json!({"command": "rm", "t": "NaN"})),
            ("\u{feff}{\"t\":-Infinity}", json!({"t": "-Infinity"})),
            ("rm NaN", json!("rm NaN")),
            ("\u{feff}rm", json!("\u{feff}rm")),
        ] {
            assert_eq!(from_model(text), want, "{text}");
        }
    }

    #[test]
    fn a_name_that_the_parser_keeps_for_itself_is_a_name() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let key = "$serde_json::private::RawValue";
        for text in [
            json!({"a": {key: "\"ls\""}}),
            json!({"a": {key: "\"ls\"", "command": "sudo"}}),
            json!({"a": [{key: deep}, {"$serde_json::private::Number": "1"}]}),
        ] {
            assert_eq!(values(text.to_string().as_bytes()), text);
        }
    }

    #[test]
    fn what_is_nested_too_deep_becomes_text_and_what_stands_beside_it_does_not() {
        let deep = |levels: usize| format!("{}\"sudo\"{}", "[".repeat(levels), "]".repeat(levels));
        for (levels, whole) in [(MAX_NESTED - 1, true), (MAX_NESTED, false), (200, false), (100_000, false)] {
            let found = values(format!(r#"{{"a":{{"command":"ls","x":{}}}}}"#, deep(levels)).as_bytes());
            assert_eq!(found["a"]["command"], "ls");
            let text = found.to_string();
            assert_eq!((text.contains("sudo"), nested(&text) > MAX_LEVELS + 2), (true, whole), "{levels}");
        }
    }

    #[test]
    fn anything_but_exactly_one_object_is_an_error() {
        for text in [
            &b""[..],
            b"x",
            b"[]",
            b"null",
            b"5",
            b"\"{}\"",
            b"{",
            b"{\"a\":1",
            b"{\"a\":\"x",
            b"{} {}",
            b"{}x",
            b"{a:1}",
            b"\xff\xfe",
            b"NaN",
            b"{\"a\":--Infinity}",
            b"{\"a\":NaN5}",
            b"{\"a\":\"NaN}",
            b"{\"a\":nan}",
            b"{\"a\":\"\\x\"}",
            b"{\"a\":\"\\u12\"}",
            b"{\"a\":1e}",
            b"{\"a\":tru}",
        ] {
            assert!(object(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn an_object_may_be_utf16_and_have_byte_order_marks() {
        let text = "\u{feff}{\"a\":\"\u{1f600}\"}";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
        let marks = format!("\u{feff}{text}").into_bytes();
        for bytes in [utf16(u16::to_le_bytes), utf16(u16::to_be_bytes), marks] {
            let found = object(&bytes).unwrap();
            assert_eq!((found[0].0.as_str(), found[0].1.get()), ("a", "\"\u{1f600}\""));
        }
    }

    #[test]
    fn a_name_that_is_there_twice_is_there_twice() {
        let found = object(br#"{"a":1,"a":2}"#).unwrap();
        let texts: Vec<_> = found.iter().map(|(name, raw)| (name.as_str(), raw.get())).collect();
        assert_eq!(texts, [("a", "1"), ("a", "2")]);
    }
}
