//! Enums whose variants have names.

/// Makes an enum of variants with their names, as they stand in JSON, in files and in messages.
macro_rules! named {
    ($(#[$of:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$of])*
        pub enum $Enum {
            $($(#[$doc])* #[serde(rename = $name)] $Variant,)*
        }

        impl $Enum {
            /// Returns the name, as it stands in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }
    };
}
