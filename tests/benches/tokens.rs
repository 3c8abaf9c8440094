//! What the listing of an agent's tools costs a model, in tokens: `cargo bench -p frith-tests --bench tokens`.
//!
//! Hosts differ in what of it they pass on. Most give their model names, descriptions and the schemas of arguments, and keep the rest.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "figures for people")]

use frith_mcp::{
    instructions,
    tools::{Shown, agent_tools},
};
use serde_json::{Value, json};

fn main() {
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    let count = |what: &str, text: &str| println!("{what}: {} tokens, {} bytes", tokenizer.encode_ordinary(text).len(), text.len());
    count("instructions", &instructions(false));
    count("instructions of a host without hooks", &instructions(true));
    for (where_, shown) in [("in a place", Shown::ALL), ("in none", Shown { placed: false, ..Shown::ALL })] {
        let tools = agent_tools(shown);
        let told: Vec<Value> = tools
            .iter()
            .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }))
            .collect();
        count(&format!("{} tools {where_}, as a model is shown them", tools.len()), &serde_json::to_string(&told).unwrap());
        count(&format!("{} tools {where_}, as they are listed", tools.len()), &serde_json::to_string(&tools).unwrap());
    }
}
