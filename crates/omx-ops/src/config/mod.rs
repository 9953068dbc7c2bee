//! Configuration in layers. Later layers win, and every value knows its origin.

mod edit;
mod files;
mod keys;
mod layers;
mod schema;

pub use edit::{set_for_project, set_for_user};
pub use keys::{KEYS, KeyRow, Kind, known, span_seconds};
pub use layers::{Config, Origin, PROJECT_TOML, Setting, Sources, limits, load, project_files};
pub use schema::schema;
