//! The built-in agent.

use super::rehearsal_stage::RehearsalStage;
use super::suite::driver_suite;

driver_suite!(RehearsalStage);
