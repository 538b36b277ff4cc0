//! The book: its generated page, its examples and its commands.

mod wit_reference;
