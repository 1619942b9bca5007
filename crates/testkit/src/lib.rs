//! The scripted model server and the real agents that the tests run against.
