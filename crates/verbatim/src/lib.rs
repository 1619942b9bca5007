//! JSON kept byte for byte beside its typed view.
