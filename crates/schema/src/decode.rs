//! From a client's JSON to canonical form.
