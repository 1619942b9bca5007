//! What an agent can be asked and what it reports.
