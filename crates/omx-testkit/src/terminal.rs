//! The program on a real terminal: `script` gives it one.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::project::TestProject;
use crate::run::CommandOutcome;

impl TestProject {
    /// Runs the program on a terminal while a person types. What it prints, on
    /// either stream, comes back as standard output. The terminal does not echo: the person
    /// types without waiting for the prompt, and the echo could fall into the middle of it.
    pub fn on_terminal(&self, args: &[&str], typed: &str) -> CommandOutcome {
        self.on_terminal_when(args, typed, || {})
    }

    /// The same, with a person who first waits for something.
    pub fn on_terminal_when(
        &self,
        args: &[&str],
        typed: &str,
        await_moment: impl FnOnce(),
    ) -> CommandOutcome {
        self.on_terminal_with(&[], args, typed, await_moment)
    }

    /// The same, with environment variables; `TERM` is that of a capable terminal
    /// unless it is one of them.
    pub fn on_terminal_with(
        &self,
        variables: &[(&str, &str)],
        args: &[&str],
        typed: &str,
        await_moment: impl FnOnce(),
    ) -> CommandOutcome {
        let words = [self.binary().to_str().expect("a path that is text")];
        self.words_on_terminal(&[&words, args].concat(), variables, typed, await_moment)
    }

    /// Runs any command line on a terminal while a person types.
    pub fn words_on_terminal(
        &self,
        words: &[&str],
        variables: &[(&str, &str)],
        typed: &str,
        await_moment: impl FnOnce(),
    ) -> CommandOutcome {
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // A program that waits for more than was typed must not wait for ever.
        let mut script: Command = self.command("timeout");
        let mut child = script
            .args([
                "60",
                "script",
                "--quiet",
                "--return",
                "--echo",
                "never",
                "--command",
                &line.join(" "),
                "/dev/null",
            ])
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("script runs (apt package bsdutils)");
        // The pipe stays open until the program has ended: its end would be a Ctrl-D.
        let mut keyboard = child.stdin.take().expect("a pipe");
        await_moment();
        keyboard.write_all(typed.as_bytes()).expect("script reads");
        let mut output = Vec::new();
        child.stdout.take().expect("a pipe").read_to_end(&mut output).expect("script writes");
        let status = child.wait().expect("script ends");
        drop(keyboard);
        CommandOutcome {
            code: status.code(),
            stdout: String::from_utf8_lossy(&output).replace("\r\n", "\n"),
            stderr: String::new(),
        }
    }
}

/// A word as a shell takes it literally.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
