//! Options of programs.

/// Returns true if an argument is one of these options, or may be. They have spaces between them.
pub(crate) fn is_option(text: &str, options: &str) -> bool {
    let options = || options.split(' ');
    let Some(rest) = text.strip_prefix('-') else { return false };
    if rest.starts_with('-') {
        let name = text.split('=').next().unwrap_or(text);
        return name.len() > 2 && options().any(|it| it.starts_with(name) && it.starts_with("--"));
    }
    let short = options().filter(|it| !it.starts_with("--")).filter_map(|it| it.strip_prefix('-'));
    short.into_iter().any(|it| rest.contains(it))
}
