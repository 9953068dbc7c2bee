//! The description of the command line in the words of a dialect.

use clap::{Arg, Command, CommandFactory};
use omx_kernel::Dialect;

use crate::cli::Cli;

/// The whole command line, by the program's name in this dialect.
pub fn command(dialect: Dialect) -> Command {
    let usage = format!("{} limit [OPTIONS] [RUN|SESSION] N", dialect.name);
    let command = Cli::command()
        .name(dialect.name)
        .bin_name(dialect.name)
        .mut_subcommand("limit", |limit| limit.override_usage(usage));
    // The texts are written for this dialect.
    if dialect == Dialect::OMX { command } else { translate(command, dialect) }
}

fn translate(mut command: Command, dialect: Dialect) -> Command {
    if let Some(text) =
        command.get_about().map(|text| dialect.localize(&text.to_string()).into_owned())
    {
        command = command.about(text);
    }
    if let Some(text) =
        command.get_after_help().map(|text| dialect.localize(&text.to_string()).into_owned())
    {
        command = command.after_help(text);
    }
    command
        .mut_args(|arg| translate_arg(arg, dialect))
        .mut_subcommands(|inner| translate(inner, dialect))
}

fn translate_arg(arg: Arg, dialect: Dialect) -> Arg {
    match arg.get_help().map(|text| dialect.localize(&text.to_string()).into_owned()) {
        Some(text) => arg.help(text),
        None => arg,
    }
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
}
