//! The output of `bindgen!` for version 0.2.0 of the WIT package: the part that is new in it. The data of events,
//! the log, settings and the store are those of 0.1.0.

#![allow(missing_docs, reason = "generated from wit/0.2/, where everything is documented")]
#![allow(clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "wit/0.2",
    inline: "
        package hookbox:host-new;

        world new-host {
            import hookbox:hook/types@0.2.0;
            import hookbox:hook/facts@0.2.0;
            import hookbox:hook/work-tree@0.2.0;
            export hookbox:hook/hook@0.2.0;
        }
    ",
    world: "hookbox:host-new/new-host",
    imports: {
        // Their fuel needs the store (`link_facts`).
        "hookbox:hook/facts.read-line": async | trappable,
        "hookbox:hook/facts.read-call": async | trappable,
        // Functions that read files let other tasks run.
        "hookbox:hook/work-tree.tree": async | trappable,
        "hookbox:hook/work-tree.is-pushed": async | trappable,
        "hookbox:hook/work-tree.path": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "hookbox:hook/types@0.1.0": super::bindings::hookbox::hook::types,
    },
    require_store_data_send: true,
});
