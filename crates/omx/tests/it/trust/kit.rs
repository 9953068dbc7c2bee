//! A clone of somebody else's repository.

use std::fs;
use std::path::PathBuf;

use omx_testkit::{CommandOutcome, TestProject};

use crate::conduct::quick_scenario;
use crate::project;

/// A project that was cloned, with the scenario of the demo beside it.
pub struct Clone {
    pub project: TestProject,
}

impl Clone {
    /// A clone of a repository with these files, besides those of the demo.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let project = project();
        fs::write(project.folder().join("scenario.toml"), quick_scenario()).unwrap();
        let upstream = project.folder().join("upstream");
        let demo = [
            ("check.sh", include_str!("../../../../../assets/demo/check.sh")),
            ("README.md", include_str!("../../../../../assets/demo/README.md")),
        ];
        for (name, text) in demo.iter().chain(files) {
            let path = upstream.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let repository = Self { project };
        let text = upstream.to_str().unwrap();
        repository.project.run_git(&["init", "--quiet", "--initial-branch=main", text]);
        repository.commit_upstream();
        repository.project.run_git(&["clone", "--quiet", text, "."]);
        repository
    }

    /// Commits what is in the upstream repository, ignored or not.
    fn commit_upstream(&self) {
        let upstream = self.project.folder().join("upstream");
        let upstream = upstream.to_str().unwrap();
        self.project.run_git(&["-C", upstream, "add", "--all", "--force"]);
        self.project.run_git(&["-C", upstream, "commit", "--quiet", "-m", "upstream"]);
    }

    /// Changes a file upstream and pulls it.
    pub fn pull(&self, name: &str, text: &str) {
        fs::write(self.project.folder().join("upstream").join(name), text).unwrap();
        self.commit_upstream();
        self.project.run_git(&["pull", "--quiet"]);
    }

    /// Writes the person's own configuration.
    pub fn own(&self, text: &str) {
        let path = self.project.home().join(".config/omx/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The arguments of a start with the rehearsal agent.
    pub fn start_args(&self, more: &[&str]) -> Vec<String> {
        let scenario = self.project.folder().join("scenario.toml");
        let words = ["autopilot", "--agent", "rehearsal", "--scenario", scenario.to_str().unwrap()];
        words.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    /// Starts a run and waits for its end.
    pub fn start(&self, more: &[&str]) -> CommandOutcome {
        let args = self.start_args(more);
        self.project.omx(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The file that the repository's command writes.
    pub fn trace(&self) -> PathBuf {
        self.project.home().join("RAN")
    }
}
