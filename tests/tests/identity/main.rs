//! Who is who: sessions of hosts that register, callers that are told apart, servers that are linked, and what each may see. A real
//! node, among processes that the tests make up.

#![expect(clippy::unwrap_used, reason = "what a test rests on fails it by panicking")]

mod launched;
mod linking;
mod registering;
mod scope;
mod world;
