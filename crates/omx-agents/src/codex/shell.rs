//! The command line inside `bash -lc '…'`: codex tells commands together with
//! the shell it gives them to, which says nothing to a person.

/// The command line inside `bash -lc '…'`; any other command unchanged.
pub(super) fn unwrap_shell(command: &str) -> String {
    match split_words(command).as_deref() {
        Some([shell, flag, line]) if is_shell(shell) && matches!(&**flag, "-lc" | "-c") => {
            line.clone()
        }
        _ => command.to_owned(),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "dash")
}

/// Splits a command line into words as a shell does; none if a quote is not closed.
fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match letter {
            '\'' => loop {
                match letters.next()? {
                    '\'' => break,
                    other => word.push(other),
                }
            },
            '"' => loop {
                match letters.next()? {
                    '"' => break,
                    '\\' => match letters.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    other => word.push(other),
                }
            },
            '\\' => word.push(letters.next()?),
            other => word.push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_wrapper_is_removed() {
        for (command, line) in [
            ("/bin/bash -lc 'cat made.txt > shell.txt'", "cat made.txt > shell.txt"),
            ("bash -lc ls", "ls"),
            (r#"/bin/zsh -lc "it's \"so\" \$x""#, r#"it's "so" $x"#),
            (r"sh -c 'a'\''b'", "a'b"),
        ] {
            assert_eq!(unwrap_shell(command), line);
        }
    }

    #[test]
    fn any_other_command_stays_unchanged() {
        for command in ["ls -l 'a b'", "bash -lc 'open", "bash -lc a b", "", "python -c 'x'"] {
            assert_eq!(unwrap_shell(command), command);
        }
    }
}
