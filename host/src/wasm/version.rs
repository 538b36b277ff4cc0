//! The versions of the WIT package. An answer of an older one becomes the answer of the newest that means the same.

use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, Func, Instance, InstancePre, TypedFunc};

use super::bindings::hookbox::hook::types as old;
use super::bindings::{HookHost, HookHostPre};
use super::bindings_0_2::hookbox::hook0_2_0::types as new;
use super::bindings_0_2::{NewHost, NewHostPre};
use super::state::CallState;

pub(super) use self::new::{Manifest, Response};

/// A version of the WIT package. Each name finds the exports of its patch versions as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 0.1.0
    V0_1,
    /// 0.2.0
    V0_2,
}

/// The parameters of `run`.
type Params<'a> = (&'a old::Context, &'a old::Event);

/// The result of `run`.
type Returned<R> = (Result<R, String>,);

impl Version {
    /// Checks that a linked component exports a hook. Returns its version and its export `run`.
    pub(super) fn of(pre: &InstancePre<CallState>) -> wasmtime::Result<(Self, ComponentExportIndex)> {
        let component = pre.component();
        for (version, name) in
            [(Self::V0_2, "hookbox:hook/hook@0.2.0"), (Self::V0_1, "hookbox:hook/hook@0.1.0")]
        {
            let Some(hook) = component.get_export_index(None, name) else { continue };
            match version {
                Self::V0_1 => drop(HookHostPre::new(pre.clone())?),
                Self::V0_2 => drop(NewHostPre::new(pre.clone())?),
            }
            let run = component.get_export_index(Some(&hook), "run");
            let run = run.ok_or_else(|| wasmtime::format_err!("{name} exports no `run`"))?;
            return Ok((version, run));
        }
        wasmtime::bail!("it exports no hook")
    }

    /// Asks an instance of this version for its manifest.
    pub(super) async fn describe(
        self,
        store: &mut Store<CallState>,
        instance: &Instance,
    ) -> wasmtime::Result<Manifest> {
        Ok(match self {
            Self::V0_1 => {
                HookHost::new(&mut *store, instance)?.hookbox_hook_hook().call_describe(store).await?.into()
            }
            Self::V0_2 => {
                let host = NewHost::new(&mut *store, instance)?;
                host.hookbox_hook0_2_0_hook().call_describe(store).await?
            }
        })
    }

    /// Checks the type of the function `run`.
    pub(super) fn check(self, store: &Store<CallState>, run: Func) -> wasmtime::Result<()> {
        match self {
            Self::V0_1 => run.typed::<Params<'_>, Returned<old::Response>>(store).map(drop),
            Self::V0_2 => run.typed::<Params<'_>, Returned<Response>>(store).map(drop),
        }
    }

    /// Calls the function `run`.
    ///
    /// # Safety
    ///
    /// The function has the type that [`check`](Self::check) asks for.
    #[allow(unsafe_code, reason = "the caller has checked the type")]
    pub(super) async unsafe fn run(
        self,
        store: &mut Store<CallState>,
        run: Func,
        event: Params<'_>,
    ) -> wasmtime::Result<Result<Response, String>> {
        // SAFETY: these are the types of `check`.
        Ok(match self {
            Self::V0_1 => {
                let run = unsafe { TypedFunc::<_, Returned<old::Response>>::new_unchecked(run) };
                run.call_async(store, event).await?.0.map(Into::into)
            }
            Self::V0_2 => {
                let run = unsafe { TypedFunc::<_, Returned<Response>>::new_unchecked(run) };
                run.call_async(store, event).await?.0
            }
        })
    }
}

impl From<old::Response> for Response {
    fn from(response: old::Response) -> Self {
        let old::Response { action, context, warnings, metadata } = response;
        let action = match action {
            old::Action::Pass => new::Action::Pass,
            old::Action::Block(reason) => new::Action::Block(reason),
            old::Action::Ask(reason) => new::Action::Ask(reason),
            old::Action::Modify(value) => new::Action::Modify(value),
            old::Action::FollowUp(messages) => new::Action::FollowUp(messages),
            old::Action::Mutate(messages) => new::Action::Mutate(messages),
            old::Action::Callback(callback) => new::Action::Callback(callback),
        };
        Self { action, context, warnings, metadata }
    }
}

impl From<old::Manifest> for Manifest {
    fn from(manifest: old::Manifest) -> Self {
        let old::Manifest { name, version, description, subscriptions, answers, capabilities, on_failure } =
            manifest;
        let mut declared = new::Answers::empty();
        for (before, now) in [
            (old::Answers::MODIFY, new::Answers::MODIFY),
            (old::Answers::INJECT, new::Answers::INJECT),
            (old::Answers::FOLLOW_UP, new::Answers::FOLLOW_UP),
            (old::Answers::MUTATE, new::Answers::MUTATE),
            (old::Answers::CALLBACK, new::Answers::CALLBACK),
        ] {
            if answers.contains(before) {
                declared |= now;
            }
        }
        let capabilities = capabilities.into_iter().map(Into::into).collect();
        Self { name, version, description, subscriptions, answers: declared, capabilities, on_failure }
    }
}

impl From<old::Capability> for new::Capability {
    fn from(capability: old::Capability) -> Self {
        match capability {
            old::Capability::Read(path) => Self::Read(path),
            old::Capability::ReadWrite(path) => Self::ReadWrite(path),
            old::Capability::Env(name) => Self::Env(name),
            old::Capability::Http(origin) => Self::Http(origin),
            old::Capability::Store => Self::Store,
            old::Capability::Conversation => Self::Conversation,
        }
    }
}
