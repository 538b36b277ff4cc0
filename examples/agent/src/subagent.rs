//! Sub-agents: the tool `agent` works on a part of the task in a conversation of its own.

use std::future::Future;
use std::mem;
use std::pin::Pin;

use serde_json::Value;

use crate::conversation::{Conversation, Thread};
use crate::model::Model;
use crate::tools::Ran;
use crate::{Agent, Step};

/// The number of nested sub-agents: each one is a whole conversation that costs tokens.
pub const MAX_DEPTH: u32 = 2;

impl<M: Model> Agent<M> {
    /// Lets a sub-agent work on `input["task"]`; its answer is the tool's result. The same hooks get its
    /// events, marked as a sub-agent's. Boxed, because a sub-agent may start one of its own.
    pub(crate) fn subagent<'a>(&'a mut self, input: &'a Value) -> Pin<Box<dyn Future<Output = Ran> + 'a>> {
        Box::pin(async move {
            let Some(task) = input["task"].as_str() else {
                return Ran::failed("expected the field \"task\"");
            };
            if self.thread.depth >= MAX_DEPTH {
                return Ran::failed(format!("sub-agents may be nested at most {MAX_DEPTH} deep"));
            }
            let conversation = Conversation::new();
            let session = self.thread.session.subagent(&conversation.id);
            let depth = self.thread.depth + 1;
            let sub = Thread { depth, ..Thread::new(session, conversation) };
            (self.watch)(Step::Because(format!("sub-agent {} begins", sub.conversation.id)));
            let parent = mem::replace(&mut self.thread, sub);
            let answer = self.run(task).await;
            let usage = mem::replace(&mut self.thread, parent).conversation.usage;
            let ran = match answer {
                Ok(answer) => Ran::ok(answer),
                Err(error) => Ran::failed(format!("{error:#}")),
            };
            Ran { tokens: usage.input_tokens.saturating_add(usage.output_tokens), ..ran }
        })
    }
}
