//! Settings that switch hooks off.

use std::fmt;

use super::document::last;
use crate::agent::disable_settings::{DisableSetting, LeavesOut};
use crate::spec::Spec;
use crate::text;
use hookbox::discovery::document::{Form, Node, Object};
use hookbox::discovery::reader::{Reader, wrong};

/// A setting with which an agent does not run hooks of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Switches all of them off: the setting, as a person would write it.
    All(&'static str),
    /// Switches all off but those of the organisation.
    AllButManaged(&'static str),
    /// Switches those of this name or command line off.
    Named {
        /// The setting.
        setting: &'static str,
        /// The name, or the command line.
        name: String,
    },
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(setting) => write!(f, "{setting} switches every hook off"),
            Self::AllButManaged(setting) => {
                write!(f, "{setting} switches every hook off but those of the organisation")
            }
            Self::Named { setting, name } => {
                write!(f, "{setting} switches the hook \"{}\" off", text::escape(name, 200))
            }
        }
    }
}

/// Returns the switches of a file of this agent. A setting of another type is a fault.
pub(crate) fn switches(spec: &Spec, root: &Object<'_>, faults: &mut Reader) -> Vec<Switch> {
    let mut switches = Vec::new();
    for setting in spec.config.disable_settings {
        let Some(value) = value_of(setting, root) else { continue };
        match (setting.leaves_out, value.form()) {
            (LeavesOut::All(off), Form::Boolean(value)) => {
                switches.extend((value == off).then_some(Switch::All(setting.shown)));
            }
            (LeavesOut::AllButManaged, form) => {
                let is_on = matches!(form, Form::Boolean(true));
                switches.extend(is_on.then_some(Switch::AllButManaged(setting.shown)));
            }
            (LeavesOut::Named, Form::Array(names)) => {
                for name in names {
                    match name.form() {
                        Form::Text(name) => switches.push(Switch::Named { setting: setting.shown, name }),
                        _ => faults.fault(|| wrong(setting.key, "a name", name)),
                    }
                }
            }
            (LeavesOut::All(_), _) => faults.fault(|| wrong(setting.key, "true or false", value)),
            (LeavesOut::Named, _) => faults.fault(|| wrong(setting.key, "a list of names", value)),
        }
    }
    switches
}

/// Returns the switches of a file that are set to leave the hooks on.
pub(crate) fn kept_on(spec: &Spec, root: &Object<'_>) -> Vec<&'static str> {
    let is_on = |setting: &&DisableSetting| {
        let form = value_of(setting, root).map(|it| it.form());
        matches!((setting.leaves_out, form), (LeavesOut::All(off), Some(Form::Boolean(value))) if value != off)
    };
    spec.config.disable_settings.iter().filter(is_on).map(|setting| setting.shown).collect()
}

/// Returns the value of a setting in a file.
fn value_of<'a>(setting: &DisableSetting, root: &Object<'a>) -> Option<Node<'a>> {
    match setting.within {
        None => last(root, setting.key),
        Some(name) => match last(root, name)?.form() {
            Form::Object(inner) => last(&inner, setting.key),
            _ => None,
        },
    }
}
