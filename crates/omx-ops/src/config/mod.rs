//! Configuration in layers. Later layers win, and every value knows its origin.

mod edit;
mod files;
mod layers;
mod schema;
mod trust;

pub use edit::{set_for_project, set_for_user};
pub use layers::{
    Config, ConfigSources, IgnoredSetting, Origin, PROJECT_TOML, Setting, WaitingFile,
    WaitingSetting, checked, limits, load, project_files,
};
pub use omx_kernel::config_keys::{KEYS, KeyRow, Kind, known, span_seconds};
pub use schema::schema;
pub use trust::{TrustEntry, TrustState, load_trusted, trust_files, trust_list, trust_revoke};
