//! Prints the version, completion scripts and manual pages.

use std::path::Path;

use omx_kernel::{Dialect, Refusal, RefusalCode, Value};

use crate::cli::GlobalArgs;
use crate::edge;
use crate::exit::Exit;
use crate::help;
use crate::output::{self, Format};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version.
pub fn version(format: Format, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let dialect = match edge::dialect(global, by_name) {
        Ok(dialect) => dialect,
        Err(refusal) => return output::refusal(&refusal, format),
    };
    match format {
        Format::Text => output::lines(&[format!("{} {VERSION}", dialect.name)]),
        Format::Json => {
            let value = Value::record([
                ("name", Value::string(dialect.name)),
                ("version", Value::string(VERSION)),
            ]);
            output::value(&value, format)
        }
    }
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell, dialect: Dialect) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(dialect), dialect.name, &mut script);
    output::generated(&String::from_utf8_lossy(&script))
}

/// Prints the manual page, or writes the pages of all commands to a folder.
pub fn man(folder: Option<&Path>, dialect: Dialect) -> Exit {
    let Some(folder) = folder else {
        return match page(help::command(dialect)) {
            Ok(text) => output::generated(&text),
            Err(error) => failed(&format!("cannot render the manual page: {error}")),
        };
    };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(help::command(dialect), folder));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => {
            failed(&format!("cannot write the manual pages to {}: {error}", folder.display()))
        }
    }
}

fn page(command: clap::Command) -> std::io::Result<String> {
    let mut roff = Vec::new();
    clap_mangen::Man::new(command).render(&mut roff)?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}

fn failed(why: &str) -> Exit {
    output::refusal(&Refusal::new(RefusalCode::Io, why), Format::Text)
}
