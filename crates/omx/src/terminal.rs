//! What the terminal can show. Every decision about color and cursor movement
//! is made here; nothing else writes escape sequences for either.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use omx_kernel::EscapedText;

use crate::edge;

/// Something went well.
pub const SUCCESS: Style = AnsiColor::Green.on_default();
/// Something needs a look.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// Something failed.
pub const FAILURE: Style = AnsiColor::Red.on_default();
/// Something that matters less than its neighbors.
pub const DIMMED: Style = Style::new().dimmed();

/// The narrowest terminal that lines are fitted to.
const NARROWEST: u16 = 20;
/// The width of a terminal that does not tell its own.
const USUAL_WIDTH: u16 = 80;

/// Whether standard output takes color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Text only.
    Plain,
    /// With color.
    Color,
}

impl Palette {
    /// The palette of standard output: the terminal decides, unless `NO_COLOR`,
    /// `CLICOLOR`, `CLICOLOR_FORCE` or `TERM=dumb` do.
    pub fn of_stdout() -> Self {
        match AutoStream::choice(&io::stdout()) {
            ColorChoice::Never => Self::Plain,
            ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => Self::Color,
        }
    }

    /// A line without text.
    pub fn line(self) -> PaintedLine {
        PaintedLine { palette: self, text: String::new() }
    }
}

/// A line with colors. Its text is escaped as it is added, so that the only escape
/// sequences in it are those of its own styles.
#[derive(Clone, Debug)]
pub struct PaintedLine {
    palette: Palette,
    text: String,
}

impl PaintedLine {
    /// Adds text.
    pub fn text(mut self, text: &str) -> Self {
        self.text.push_str(&EscapedText::whole_line(text).to_string());
        self
    }

    /// Adds text in this style.
    pub fn styled(mut self, style: Style, text: &str) -> Self {
        match self.palette {
            Palette::Plain => self.text(text),
            Palette::Color => {
                self.text.push_str(&style.render().to_string());
                self = self.text(text);
                self.text.push_str(&style.render_reset().to_string());
                self
            }
        }
    }

    /// The line as the terminal gets it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Whether standard output is a terminal on which lines can be drawn anew.
pub fn can_redraw() -> bool {
    io::stdout().is_terminal() && edge::text("TERM").is_some_and(|term| term != "dumb")
}

/// Moves the cursor up one line and clears it.
pub const CLEAR_LINE_ABOVE: &str = "\u{1b}[1A\u{1b}[2K";

/// The columns of the terminal; one that does not know its width reports zero.
pub fn width() -> usize {
    let columns = match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.max(NARROWEST),
        _ => USUAL_WIDTH,
    };
    usize::from(columns)
}
