//! The journal of the program, when the user's settings ask for it.

use hookbox::manager::Manager;
use hookbox_journal::journal::Journal;

/// Makes the manager record its events, if `[journal] enabled` is true. `agent` is the agent that sends them, if it is
/// known.
pub(crate) fn attach(manager: Manager, agent: Option<&str>) -> Manager {
    if manager.journal_settings().enabled
        && let Some(file) = manager.trust_file()
    {
        manager.record_in(Journal::new(file.directory(), agent));
    }
    manager
}
