//! The description of the command line in the words of a dialect.

use clap::{Arg, Command, CommandFactory};
use omx_kernel::Dialect;

use crate::cli::Cli;

/// The whole command line, by the program's name in this dialect.
pub fn command(dialect: Dialect) -> Command {
    let command = Cli::command().name(dialect.name).bin_name(dialect.name);
    // The texts are written for this dialect.
    if dialect == Dialect::OMX { command } else { translate(command, dialect) }
}

fn translate(mut command: Command, dialect: Dialect) -> Command {
    if let Some(text) = command.get_about().map(|text| name_in(&text.to_string(), dialect)) {
        command = command.about(text);
    }
    if let Some(text) = command.get_after_help().map(|text| name_in(&text.to_string(), dialect)) {
        command = command.after_help(text);
    }
    command
        .mut_args(|arg| translate_arg(arg, dialect))
        .mut_subcommands(|inner| translate(inner, dialect))
}

fn translate_arg(arg: Arg, dialect: Dialect) -> Arg {
    match arg.get_help().map(|text| name_in(&text.to_string(), dialect)) {
        Some(text) => arg.help(text),
        None => arg,
    }
}

/// The text with the dialect's name wherever the program's name is a word of its own.
pub fn name_in(text: &str, dialect: Dialect) -> String {
    let name = Dialect::OMX.name;
    let is_part = |c: char| c.is_alphanumeric();
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        translated.push_str(before);
        translated.push_str(if is_word { dialect.name } else { name });
        rest = after;
    }
    translated + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_help_names_the_program_by_its_dialect() {
        fn texts(command: &Command, into: &mut Vec<String>) {
            let own = [command.get_about(), command.get_after_help()];
            into.extend(own.into_iter().flatten().map(ToString::to_string));
            into.extend(command.get_arguments().filter_map(Arg::get_help).map(ToString::to_string));
            command.get_subcommands().for_each(|inner| texts(inner, into));
        }
        let mut found = Vec::new();
        texts(&command(Dialect::OMC), &mut found);
        assert!(found.iter().any(|text| text.contains("omc cancel ralph")));
        for text in found {
            assert!(!text.contains("omx "), "{text}");
        }
    }

    #[test]
    fn only_whole_words_are_names() {
        let text = "omx runs, .omx/x, _omx, comx omxs (omx)";
        assert_eq!(name_in(text, Dialect::OMC), "omc runs, .omc/x, _omc, comx omxs (omc)");
    }
}
