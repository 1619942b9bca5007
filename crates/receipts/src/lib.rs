//! What happened in a turn: the pure receipt and usage folds.
