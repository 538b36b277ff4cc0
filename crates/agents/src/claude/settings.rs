//! Settings that Claude Code 2.1 checks. It ignores a whole file in which one of them has another type.

use serde_json::Value;

/// The type of a setting.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Boolean,
    Object,
    Strings,
}

/// Settings about hooks and permissions, by their JSON pointer.
const SETTINGS: [(&str, Kind); 8] = [
    ("/allowManagedHooksOnly", Kind::Boolean),
    ("/disableAllHooks", Kind::Boolean),
    ("/env", Kind::Object),
    ("/hooks", Kind::Object),
    ("/permissions", Kind::Object),
    ("/permissions/allow", Kind::Strings),
    ("/permissions/ask", Kind::Strings),
    ("/permissions/deny", Kind::Strings),
];

/// Returns the first of these settings that has another type than Claude Code expects.
pub(super) fn check(text: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let expected = |kind: Kind, value: &Value| match kind {
        Kind::Boolean => (!value.is_boolean()).then_some("true or false"),
        Kind::Object => (!value.is_object()).then_some("an object"),
        Kind::Strings => {
            let is_list = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
            (!is_list).then_some("a list of strings")
        }
    };
    SETTINGS.into_iter().find_map(|(pointer, kind)| {
        let expected = expected(kind, settings.pointer(pointer)?)?;
        let name = pointer.trim_start_matches('/').replace('/', ".");
        Some(format!(
            "expected {expected} for \"{name}\"; with anything else Claude Code ignores the whole file"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_another_type_is_an_error() {
        for (text, want) in [
            (r#"{"disableAllHooks": "yes"}"#, Some("true or false for \"disableAllHooks\"")),
            (
                r#"{"permissions": {"allow": ["Bash", 5]}}"#,
                Some("a list of strings for \"permissions.allow\""),
            ),
            (r#"{"permissions": []}"#, Some("an object for \"permissions\"")),
            (r#"{"hooks": null}"#, Some("an object for \"hooks\"")),
            (r#"{"env": {"A": 1}, "model": "x", "unheard": [null]}"#, None),
        ] {
            let found = check(text);
            assert_eq!(found.is_some(), want.is_some(), "{text} {found:?}");
            assert!(found.is_none_or(|it| it.contains(want.unwrap())), "{text}");
        }
    }
}
