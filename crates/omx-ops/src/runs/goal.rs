//! The command that decides whether a run has reached its goal.

use std::fs;
use std::path::Path;

/// What must hold when a run is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CheckGoal {
    /// The project's own check passes.
    #[default]
    Project,
    /// The project builds.
    Build,
    /// The linter reports nothing.
    Lint,
    /// The type checker reports nothing.
    Types,
    /// This command succeeds.
    Command(String),
}

impl CheckGoal {
    /// The goal as a task for an agent.
    pub fn describe(&self) -> String {
        match self {
            Self::Project => "Make the project's check pass.".to_owned(),
            Self::Build => "Make the project build.".to_owned(),
            Self::Lint => "Make the linter pass.".to_owned(),
            Self::Types => "Make the type checker pass.".to_owned(),
            Self::Command(command) => format!("Make `{command}` succeed."),
        }
    }

    /// Returns the check command: the goal's own, the requested one, the configured
    /// one, or one that the project's files imply.
    pub(super) fn command(
        &self,
        named: Option<String>,
        configured: Option<String>,
        root: &Path,
    ) -> Option<String> {
        match self {
            Self::Command(command) => Some(command.clone()),
            Self::Project => named.or(configured).or_else(|| project_check(root)),
            Self::Build | Self::Lint | Self::Types => {
                named.or_else(|| self.obvious_command(root).map(str::to_owned))
            }
        }
    }

    fn obvious_command(&self, root: &Path) -> Option<&'static str> {
        let has = |name: &str| root.join(name).is_file();
        Some(match self {
            Self::Build if has("Cargo.toml") => "cargo build",
            Self::Build if has("go.mod") => "go build ./...",
            Self::Build if has("package.json") => "npm run build",
            Self::Lint if has("Cargo.toml") => "cargo clippy --all-targets -- -D warnings",
            Self::Lint if has("go.mod") => "go vet ./...",
            Self::Lint if has("package.json") => "npm run lint",
            Self::Types if has("Cargo.toml") => "cargo check --all-targets",
            Self::Types if has("tsconfig.json") => "npx tsc --noEmit",
            Self::Types if has("go.mod") => "go vet ./...",
            _ => return None,
        })
    }
}

/// Returns the command that checks a project, if its files imply one.
fn project_check(root: &Path) -> Option<String> {
    let has = |name: &str| root.join(name).is_file();
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    if has("Cargo.toml") {
        return Some("cargo test".to_owned());
    }
    if has("go.mod") {
        return Some("go test ./...".to_owned());
    }
    if npm_has_tests(&text("package.json")) {
        return Some("npm test".to_owned());
    }
    let is_pytest = ["pytest.ini", "conftest.py", "tests/conftest.py"].into_iter().any(has)
        || text("pyproject.toml").contains("[tool.pytest");
    if is_pytest {
        return Some("pytest".to_owned());
    }
    let makefile = text("Makefile");
    let target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    ["check", "test"].into_iter().find(|name| target(name)).map(|name| format!("make {name}"))
}

/// Whether there is a test script other than npm's placeholder.
fn npm_has_tests(package: &str) -> bool {
    let package: serde_json::Value = serde_json::from_str(package).unwrap_or_default();
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    !script.is_empty() && !script.contains("no test specified")
}
