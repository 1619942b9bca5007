//! End to end: the real program, on real input.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod fold;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod record;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod run;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod server;
#[cfg(test)]
mod story;
#[cfg(test)]
mod takeover;
#[cfg(test)]
mod views;
