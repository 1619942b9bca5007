//! Drives and watches agents and records what they did, exactly once.
