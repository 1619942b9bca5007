//! The client on a real OpenCode with the scripted model.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod driven;
#[cfg(test)]
mod own;
