//! Variables in the texts of an mcp.json.

/// Replaces `${NAME}` and `${NAME:-DEFAULT}` in a text by the values that `variable` returns.
///
/// # Errors
///
/// The name of a variable that is not set and has no default.
pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match variable(name).filter(|value| default.is_none() || !value.is_empty()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(default.ok_or_else(|| name.to_owned())?),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_replaced_by_its_value_or_its_default_and_is_never_read_twice() {
        let variable = |name: &str| match name {
            "A" => Some("${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, want) in [
            ("plain $A {A}", Ok("plain $A {A}")),
            ("x${A}y", Ok("x${B}y")),
            ("${NO:-d}${EMPTY:-e}${EMPTY}", Ok("de")),
            ("${NO}", Err("NO")),
            ("${", Ok("${")),
            ("${A", Ok("${A")),
        ] {
            assert_eq!(expand(text, &variable), want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
