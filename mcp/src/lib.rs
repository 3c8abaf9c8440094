//! The face for agents: the operations as tools. It never decides; what a tool may do is the node's answer to a call.

pub mod tools;
