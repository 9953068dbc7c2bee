//! Checks the MCP server: starts it as the hosts do, and initializes it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use omx_process::kill_group;
use serde_json::{Value, json};

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};
use super::settings;
use crate::setup::Manifest;

const AREA: CheckArea = CheckArea::Server;

const DEADLINE: Duration = Duration::from_secs(5);

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut queried: Vec<Value> = Vec::new();
    for installed in &env.installed {
        let Ok(Some(manifest)) = Manifest::load(&installed.paths.manifest()) else { continue };
        for record in &manifest.files {
            let parts = record.parts.iter();
            for part in parts.filter(|part| part.value["args"] == json!(["mcp"])) {
                // A missing entry is a finding of setup.
                let Some(entry) = read_entry(&record.path, part.slot.path()) else { continue };
                if queried.contains(&entry) {
                    continue;
                }
                queried.push(entry.clone());
                findings.push(match query_server(env, &entry) {
                    Ok(name) => {
                        DoctorFinding::fine(AREA, "server", format!("the {name} server responds"))
                    }
                    Err(why) => {
                        let what = format!("the server does not respond: {why}");
                        let program = env.program();
                        let fix = format!("{program} setup, or {program} doctor --fix");
                        let failure = DoctorFinding::failure(AREA, "server", what, fix);
                        failure.at(&record.path).fixed_by(Fix::SetUp)
                    }
                });
            }
        }
    }
    findings
}

/// Reads the server's entry in a host's file.
fn read_entry(file: &Path, path: &[String]) -> Option<Value> {
    if file.extension().is_some_and(|ending| ending == "toml") {
        let text = std::fs::read_to_string(file).ok()?;
        let document: toml_edit::DocumentMut = text.parse().ok()?;
        let mut item = document.as_item();
        for name in path {
            item = item.get(name)?;
        }
        let args = item.get("args")?.as_array()?.iter();
        let args: Vec<&str> = args.filter_map(toml_edit::Value::as_str).collect();
        return Some(json!({"command": item.get("command")?.as_str()?, "args": args}));
    }
    let mut value = &settings::read_json(file)?;
    for name in path {
        value = value.get(name)?;
    }
    Some(json!({"command": value["command"], "args": value["args"]}))
}

/// Starts the server and initializes it. Returns its name, or why that failed.
fn query_server(env: &DoctorEnv<'_>, part: &Value) -> Result<String, String> {
    let program = part["command"].as_str().ok_or("no command")?;
    let mut command = Command::new(program);
    let args = part["args"].as_array().map(Vec::as_slice).unwrap_or_default();
    command.args(args.iter().filter_map(Value::as_str)).current_dir(env.store.root());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let greeting = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": format!("{} doctor", env.program()), "version": env!("CARGO_PKG_VERSION")},
        },
    });
    // Keep the pipe open until the response is here: the server ends with it.
    let mut input = child.stdin.take();
    let written = input.as_mut().map(|pipe| writeln!(pipe, "{greeting}"));
    let (sender, receiver) = mpsc::channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = output.map(|pipe| BufReader::new(pipe).read_line(&mut line));
        let _ = sender.send(line);
    });
    let line = receiver.recv_timeout(DEADLINE);
    drop(input);
    kill_group(&mut child);
    // A program may print something and exit before it reads: its output says more.
    let silent = line.as_ref().is_ok_and(String::is_empty);
    if let Some(Err(error)) = written.filter(|_| silent) {
        return Err(format!("{program}: {error}"));
    }
    let line =
        line.map_err(|_| format!("{program}: no response within {} s", DEADLINE.as_secs()))?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| {
        format!("{program} printed {:?}", line.trim().chars().take(80).collect::<String>())
    })?;
    let name = answer["result"]["serverInfo"]["name"].as_str();
    name.map(str::to_owned).ok_or_else(|| format!("{program}: the response has no server name"))
}
