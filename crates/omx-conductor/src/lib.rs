//! Carries modes out: omx itself holds the loop, agents are its workers.
