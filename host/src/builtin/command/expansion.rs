//! Variables in the words of a shell line. Nothing is evaluated.

/// A variable in a text.
pub(super) struct Variable<'t> {
    pub(super) name: &'t str,
    from: usize,
    to: usize,
}

/// Returns the variables of a text: `$NAME`, `${NAME…}`, `$1`.
pub(super) fn variables(text: &str) -> impl Iterator<Item = Variable<'_>> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices('$').filter_map(move |(from, _)| {
        let rest = text.get(from + 1..)?;
        let (inside, is_braced) = rest.strip_prefix('{').map_or((rest, false), |it| (it, true));
        let inside = if is_braced { inside.split('}').next()? } else { inside };
        let named = inside.trim_start_matches(['!', '#']);
        let mut end = named.find(|c| !is_of_name(c)).unwrap_or(named.len());
        if named.starts_with(|c: char| c.is_ascii_digit() || "@*".contains(c)) {
            end = 1;
        }
        let name = named.get(..end).filter(|name| !name.is_empty())?;
        let to = from + 1 + if is_braced { inside.len() + 2 } else { end };
        Some(Variable { name, from, to })
    })
}

/// Replaces the variables of a text that have a value.
pub(super) fn with_values<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let (mut filled, mut end) = (String::new(), 0);
    for it in variables(text) {
        let Some(value) = value(it.name).filter(|_| it.from >= end) else { continue };
        filled.push_str(text.get(end..it.from).unwrap_or_default());
        filled.push_str(value);
        end = it.to;
    }
    filled + text.get(end..).unwrap_or_default()
}

/// Returns a text as it is if its variables are empty.
pub(super) fn without_variables(text: &str) -> String {
    with_values(text, |_| Some(""))
}
