//! Plugins: where they come from, how they are installed, what they may hold.
