//! Does the client keep its contract, on a scripted server and on a real OpenCode?

#[cfg(test)]
mod reading;
#[cfg(test)]
mod real;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod sending;
#[cfg(test)]
mod streaming;
