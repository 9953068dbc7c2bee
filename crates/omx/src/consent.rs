//! Asks the person to trust a project's configuration, and shows what that would enable.

use std::io::{self, BufRead, IsTerminal};

use omx_kernel::config_keys::row_of;
use omx_kernel::{EscapedText, Refusal};
use omx_ops::Context;
use omx_ops::config::{self, Config, WaitingFile};
use omx_store::Store;

use crate::output;

/// Asks on a terminal whether to trust what waits in the project's configuration. Elsewhere
/// nothing is asked, and the start refuses.
pub fn ask_for_trust(context: &Context<'_>, store: &Store) -> Result<(), Refusal> {
    let config = config::load(context, store)?;
    for path in context.skipped_trees().iter().chain(&config.skipped) {
        let path = path.to_string_lossy();
        let path = EscapedText::one_line(&path);
        output::note(&format!("note: {path} is ignored: another user owns it or can write it"));
    }
    if config.waiting.is_empty() || !is_interactive() {
        return Ok(());
    }
    for line in preview(&config, &config.waiting) {
        output::note(&line);
    }
    if confirm("Trust this configuration?") {
        config::trust_files(context, &config.waiting)?;
    }
    Ok(())
}

/// What trust in these files would enable, line by line. All of it is the repository's
/// text, so it is escaped.
pub fn preview(config: &Config, files: &[WaitingFile]) -> Vec<String> {
    let mut lines = Vec::new();
    for file in files {
        let path = file.path.to_string_lossy();
        lines.push(format!("{} would set:", EscapedText::one_line(&path)));
        for setting in &file.settings {
            let key = EscapedText::one_line(&setting.key);
            // As JSON, a line break in a value is visible.
            let value = EscapedText::one_line(setting.value.as_json());
            let meaning = row_of(&setting.key).map_or("", |row| row.meaning);
            let instead = config
                .get(&setting.key)
                .map(|own| format!("; instead of {}", EscapedText::one_line(own.value.as_json())));
            lines.push(format!("  {key} = {value}"));
            lines.push(format!("      {meaning}{}", instead.unwrap_or_default()));
        }
        let others = file.all.iter().filter(|setting| !file.settings.contains(setting));
        for setting in others {
            let key = EscapedText::one_line(&setting.key);
            let value = EscapedText::one_line(setting.value.as_json());
            lines.push(format!("  {key} = {value}"));
            lines.push("      changes nothing now, but will count if you change yours".to_owned());
        }
    }
    lines
}

/// Whether a person sits at this terminal.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question on the terminal. Only an explicit yes is one.
pub fn confirm(question: &str) -> bool {
    output::prompt(&format!("{question} [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
