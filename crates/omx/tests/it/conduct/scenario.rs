//! Scenarios for the rehearsal agent.

/// A ralph whose builder does this.
pub fn ralph_scenario(actions: &str) -> String {
    format!(
        r#"
[[entry]]
role = "executor"
phase = "executing"
times = 1
do = [
{actions}
  {{ result = {{ summary = "built it", changed_files = ["work.txt"], commands = [], done = true }} }},
]

[[entry]]
role = "executor"
required = false
do = [{{ result = {{ summary = "tidy", changed_files = [], commands = [], done = true }} }}]

[[entry]]
required = false
do = [{{ result = {{ passed = true, findings = [], checks = [{{ name = "read", evidence = "read it" }}] }} }}]
"#
    )
}

/// An action that writes a file.
pub fn write(path: &str, content: &str) -> String {
    format!("  {{ write = {{ path = {path:?}, content = {content:?} }} }},\n")
}

/// An action that runs a command.
pub fn run(command: &str) -> String {
    format!("  {{ run = {{ command = {command:?} }} }},\n")
}
