//! OpenCode's own messages as types, and their translation to observations.
