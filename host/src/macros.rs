//! Macros for what many types have.

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

/// Implements `Debug` for a type by some of its fields. The others have no debug output, or may have secrets.
macro_rules! debug_by {
    ($Type:ident $(, $($field:ident).+)*) => {
        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($Type));
                $(shown.field(stringify!($($field).+), &self.$($field).+);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}
