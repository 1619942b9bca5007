//! Is what an agent does recorded exactly once, whatever fails? On a scripted agent and the memory
//! model.

#[cfg(test)]
mod drive;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod history;
#[cfg(test)]
mod law;
#[cfg(test)]
mod recover;
#[cfg(test)]
mod stale;
#[cfg(test)]
mod takeover;
#[cfg(test)]
mod world;
