//! Reads bodies as Rust's servers do: serde_json into a struct, and into values. See ../README.md.
//! Each line of standard input is a body in base64; the few lines of base64 here save a dependency.
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::io::BufRead;

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    role: Value,
    #[serde(default)]
    content: Value,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    model: Value,
    #[serde(default)]
    stream: Value,
    messages: Option<Vec<Message>>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    tools: Value,
}

#[derive(Serialize)]
struct Reading {
    #[serde(rename = "rust struct")]
    with_struct: Value,
    #[serde(rename = "rust value")]
    with_value: Value,
}

fn into_struct(raw: &[u8]) -> Value {
    match serde_json::from_slice::<Request>(raw) {
        Err(_) => Value::Null,
        Ok(r) => json!({"model": r.model, "stream": r.stream, "system": r.system, "prompt": r.prompt, "input": r.input,
            "tools": r.tools,
            "messages": r.messages.map(|list| list.into_iter().map(|m| json!([m.role, m.content])).collect::<Vec<_>>())}),
    }
}

fn into_value(raw: &[u8]) -> Value {
    match serde_json::from_slice::<Value>(raw) {
        Ok(body) if body.is_object() => json!({"model": body["model"], "stream": body["stream"], "system": body["system"],
            "prompt": body["prompt"], "input": body["input"], "tools": body["tools"],
            "messages": body["messages"].as_array().map(
                |list| list.iter().map(|m| json!([m["role"], m["content"]])).collect::<Vec<_>>())}),
        _ => Value::Null,
    }
}

fn decode(line: &str) -> Vec<u8> {
    let (mut out, mut bits, mut n) = (Vec::new(), 0u32, 0);
    for c in line.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
            bits &= (1 << n) - 1;
        }
    }
    out
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let raw = decode(&line.expect("standard input"));
        let reading = Reading { with_struct: into_struct(&raw), with_value: into_value(&raw) };
        println!("{}", serde_json::to_string(&reading).expect("a reading"));
    }
}
