//! Is what an agent does recorded exactly once, whatever fails? On a scripted agent and the memory
//! model.

mod drive;
mod fake;
mod follow;
mod history;
mod law;
mod recover;
mod stale;
mod takeover;
mod world;
