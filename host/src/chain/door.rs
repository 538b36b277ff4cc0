//! The user's way through the blocks of one event: allowances that were given, and codes for the blocks that remain.

use super::Fold;
use crate::event::{Document, Event, EventName, now_ms};
use crate::hook::{Cause, Descriptor, Kind, Origin};
use crate::outcome::{Author, Ruling};
use crate::report::{HookReport, Status};
use crate::trust::{AllowanceFile, Allowances, BlockedCall, MAX_SHOWN, PrivateFileError, Term};

/// The allowances that count for the events of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Opens {
    /// Those of its conversation.
    #[default]
    ForConversation,
    /// Those without a conversation: its id is made up, and no other event has it.
    ForNone,
    /// None, and its blocks get no code.
    Never,
}

/// The allowances for one event before a tool call.
///
/// A block that the user allowed is lifted at the hook's turn, so that the hooks after it judge the call as well. The
/// allowances are used up at the end, and only if nothing else blocks.
pub(crate) struct Door {
    file: AllowanceFile,
    session: Option<String>,
    /// The allowances at the first block.
    held: Option<Result<Allowances, PrivateFileError>>,
    lifted: Vec<Blocked>,
    /// The block that remains.
    closed: Option<Blocked>,
    /// True if nothing is used up and no code is given.
    looks: bool,
}

/// A block of a hook that the user may allow.
struct Blocked {
    call: BlockedCall,
    /// The input that the hook saw, as JSON.
    shown: String,
    /// The ruling, once it is lifted.
    ruling: Option<Ruling>,
    /// The place of the hook in the report.
    at: usize,
}

impl Door {
    /// Returns the door of an event before a tool call. Other events have none.
    pub(crate) fn of(file: AllowanceFile, event: &Event, opens: Opens) -> Option<Self> {
        let id = &event.context.conversation_id;
        let session = Some(id.clone()).filter(|id| opens == Opens::ForConversation && !id.is_empty());
        let is_open = event.name() == EventName::BeforeToolCall && opens != Opens::Never;
        is_open.then_some(Self { file, session, held: None, lifted: Vec::new(), closed: None, looks: false })
    }

    /// Returns the door of an event that is only explained: nothing is used up and no code is given.
    pub(crate) fn looking(self) -> Self {
        Self { looks: true, ..self }
    }

    /// Lifts the block of a hook if the user allowed it. `input` is the input that the hook saw, and `at` the place of the hook
    /// in the report.
    pub(super) fn pass(
        &mut self,
        fold: &mut Fold,
        (event, input): (&Event, Option<&Document>),
        descriptor: &Descriptor,
        (report, at): (&mut HookReport, usize),
    ) {
        let Some((call, input)) = event.tool_call().zip(input) else { return };
        if !is_the_users(descriptor, report.cause) {
            return;
        }
        let blocked = BlockedCall {
            tool: call.name.clone(),
            input: BlockedCall::digest_of(input),
            directory: event.context.cwd.clone(),
            session: self.session.clone(),
            agent: event.context.agent.clone(),
            guard: descriptor.name.clone(),
            digest: descriptor.digest.clone(),
            cause: report.cause,
            managed: descriptor.tier.origin() == Origin::Managed,
        };
        let held = self.held.get_or_insert_with(|| self.file.read());
        // A file that cannot be read allows nothing; the note of the block has the reason.
        let is_allowed = held.as_ref().is_ok_and(|it| it.covering(&blocked, now_ms()).is_some());
        let ruling = if is_allowed { fold.lift() } else { None };
        let found = Blocked { call: blocked, shown: input.text().to_owned(), ruling, at };
        if found.ruling.is_some() {
            report.status = Status::Allowed;
            self.lifted.push(found);
        } else {
            self.closed = Some(found);
        }
    }

    /// Ends the event: uses up the allowances of a call that nothing else blocks, or gives the block a code.
    pub(super) async fn close(mut self, fold: &mut Fold, reports: &mut [HookReport]) {
        if self.looks {
            return;
        }
        if !fold.is_blocked() && !self.lifted.is_empty() {
            let calls: Vec<BlockedCall> = self.lifted.iter().map(|it| it.call.clone()).collect();
            match on_disk(&self.file, move |file| file.take(&calls)).await {
                Some(Ok(Some(terms))) => {
                    for (blocked, term) in self.lifted.iter().zip(terms) {
                        let name = Author::trusted(&blocked.call.guard).shown();
                        let once = if term == Term::Once { " once" } else { "" };
                        fold.warn(
                            Some(&blocked.call.guard),
                            format!("{name} blocks this call, and the user allowed it{once}"),
                        );
                    }
                    return;
                }
                taken => {
                    // Another call has used it up, or the file cannot be written.
                    for blocked in &self.lifted {
                        reports.get_mut(blocked.at).into_iter().for_each(|it| it.status = Status::Blocked);
                    }
                    self.closed = self.lifted.into_iter().next();
                    if let Some(Blocked { ruling: Some(ruling), .. }) = &self.closed {
                        fold.restore(ruling.clone());
                    }
                    if let Some(Err(error)) = taken {
                        // A code would have to be written as well.
                        fold.warn(None, error.to_string());
                        return;
                    }
                }
            }
        }
        let Some(Blocked { call, shown, .. }) = self.closed.filter(|_| fold.is_blocked()) else { return };
        let name = call.guard.clone();
        let reason = fold.reason().to_owned();
        match on_disk(&self.file, move |file| file.note(call, &shown, &reason)).await {
            Some(Ok(Some(code))) => fold.set_code(code.to_string()),
            Some(Ok(None)) => {
                let what = format!("`hookbox allow` takes no input of more than {MAX_SHOWN} bytes");
                fold.warn(Some(&name), format!("this block has no code: {what}"));
            }
            Some(Err(error)) => {
                fold.warn(Some(&name), format!("this block has no code for `hookbox allow`: {error}"));
            }
            None => {}
        }
    }
}

/// Returns true if the user may let a call through that this hook blocked, for this cause of a failure.
///
/// The hook is the user's own or one that the user trusts, or the administrator leaves it to the user. The decisions of
/// hookbox and of the agent themselves stay. A hook that changed since it was trusted has to be trusted again.
fn is_the_users(descriptor: &Descriptor, cause: Option<Cause>) -> bool {
    let is_own = !matches!(descriptor.kind, Kind::Builtin | Kind::Code)
        && descriptor.tier.origin() != Origin::Host
        && (descriptor.tier.origin() != Origin::Managed || descriptor.allow_once)
        && descriptor.trusted;
    // An allowance is for certain bytes. A guard that failed may have none.
    is_own && cause != Some(Cause::Untrusted) && (descriptor.digest.is_some() || cause.is_some())
}

/// Works on the file in a thread that may block. `None` if the runtime ends meanwhile.
async fn on_disk<T: Send + 'static>(
    file: &AllowanceFile,
    work: impl FnOnce(&AllowanceFile) -> T + Send + 'static,
) -> Option<T> {
    let file = file.clone();
    tokio::task::spawn_blocking(move || work(&file)).await.ok()
}
