//! The words of a git command.

use hookbox_shell::Arg;

/// Returns the subcommand, its arguments and the directory that `-C` names.
pub(crate) fn parts(args: &[Arg]) -> Option<(&str, &[Arg], Option<&Arg>)> {
    let (mut rest, mut directory) = (args, None);
    while let [first, more @ ..] = rest {
        let text = first.text.as_str();
        rest = more;
        match text {
            "-C" => {
                directory = more.first();
                rest = more.get(1..)?;
            }
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" => {
                rest = more.get(1..)?
            }
            _ if text.starts_with('-') => {}
            _ => return Some((text, rest, directory)),
        }
    }
    None
}
