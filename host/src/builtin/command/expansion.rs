//! Variables in the words of a shell line. Nothing is evaluated.

/// The variable that is all of `$1`, `$@` and their like.
pub(super) const GIVEN: &str = "@";

/// A variable in a text.
pub(super) struct Variable<'t> {
    pub(super) name: &'t str,
    pub(super) default: Option<&'t str>,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Returns the variables of a text: `$NAME`, `${NAME}`, `${NAME:-DEFAULT}`, `$1`.
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
        let (name, default) = named.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
        let default = default.strip_prefix(':').unwrap_or(default).strip_prefix(['-', '=', '+']);
        let to = from + 1 + if is_braced { inside.len() + 2 } else { end };
        let name =
            if name.starts_with(|c: char| !is_of_name(c) || c.is_ascii_digit()) { GIVEN } else { name };
        Some(Variable { name, default: default.filter(|_| is_braced), from, to })
    })
}

/// Returns a text as it is if its variables are empty.
pub(super) fn without_variables(text: &str) -> String {
    let mut end = 0;
    let mut bare = String::new();
    for it in variables(text) {
        bare.push_str(text.get(end..it.from).unwrap_or_default());
        end = end.max(it.to);
    }
    bare + text.get(end..).unwrap_or_default()
}
