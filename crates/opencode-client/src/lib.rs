//! Talks to an OpenCode server, or reads its database.
