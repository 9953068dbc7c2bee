//! The live view of a run: a screen that is drawn anew on a terminal, plain
//! lines elsewhere, one JSON object a line for programs.

mod line;
mod screen;
mod view;

pub use view::Live;
use view::RunLabel;
