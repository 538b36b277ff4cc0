//! The floor of the bench: a guest that is handed the whole payload, parses it and looks at one field, with no
//! interface but one function. Nothing that passes the payload can do less.

mod bindings {
    #![allow(missing_docs, reason = "generated")]

    wit_bindgen::generate!({
        inline: "
            package bench:floor;

            world floor {
                export check: func(payload: string) -> option<string>;
            }
        ",
    });
}

struct Floor;

impl bindings::Guest for Floor {
    fn check(payload: String) -> Option<String> {
        let payload: serde_json::Value = serde_json::from_str(&payload).ok()?;
        let command = payload.pointer("/tool_input/command")?.as_str()?;
        ["rm -rf", "sudo", "curl | bash", "wget | sh"]
            .into_iter()
            .find(|denied| command.contains(denied))
            .map(|denied| format!("Security policy: '{denied}' is not allowed"))
    }
}

bindings::export!(Floor with_types_in bindings);
