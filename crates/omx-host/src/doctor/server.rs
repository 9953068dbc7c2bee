//! The MCP server: started as the hosts are told to start it, and asked.

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
    let mut asked: Vec<Value> = Vec::new();
    for installed in &env.installed {
        let Ok(Some(manifest)) = Manifest::load(&installed.paths.manifest()) else { continue };
        for record in &manifest.files {
            let parts = record.parts.iter();
            for part in parts.filter(|part| part.value["args"] == json!(["mcp"])) {
                // One that is not there is told under setup.
                let Some(entry) = entry(&record.path, part.slot.path()) else { continue };
                if asked.contains(&entry) {
                    continue;
                }
                asked.push(entry.clone());
                findings.push(match answers(env, &entry) {
                    Ok(name) => DoctorFinding::fine(AREA, "server", format!("{name} answers")),
                    Err(why) => {
                        let what = format!("the server does not answer: {why}");
                        let fix = "omx setup, or omx doctor --fix";
                        let failure = DoctorFinding::failure(AREA, "server", what, fix);
                        failure.at(&record.path).fixed_by(Fix::SetUp)
                    }
                });
            }
        }
    }
    findings
}

/// The entry of the server as it stands in the host's file.
fn entry(file: &Path, path: &[String]) -> Option<Value> {
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
    let mut value = &settings::read(file)?;
    for name in path {
        value = value.get(name)?;
    }
    Some(json!({"command": value["command"], "args": value["args"]}))
}

/// Starts the server and greets it; its name, or why there is none.
fn answers(env: &DoctorEnv<'_>, part: &Value) -> Result<String, String> {
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
            "clientInfo": {"name": "omx doctor", "version": env!("CARGO_PKG_VERSION")},
        },
    });
    // Kept until the answer is there: the server ends with its pipe.
    let mut input = child.stdin.take();
    let written = input.as_mut().map(|pipe| writeln!(pipe, "{greeting}"));
    let (tell, told) = mpsc::channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = output.map(|pipe| BufReader::new(pipe).read_line(&mut line));
        let _ = tell.send(line);
    });
    let line = told.recv_timeout(DEADLINE);
    drop(input);
    kill_group(&mut child);
    // A program may answer and be gone before it was greeted: its answer tells more.
    let silent = line.as_ref().is_ok_and(String::is_empty);
    if let Some(Err(error)) = written.filter(|_| silent) {
        return Err(format!("{program}: {error}"));
    }
    let line = line.map_err(|_| format!("{program}: nothing within {} s", DEADLINE.as_secs()))?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| {
        format!("{program} says {:?}", line.trim().chars().take(80).collect::<String>())
    })?;
    let name = answer["result"]["serverInfo"]["name"].as_str();
    name.map(str::to_owned).ok_or_else(|| format!("{program} answers without its name"))
}
