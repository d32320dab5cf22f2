//! `docs/gates.md` says what the gates say. `UPDATE=1` writes it anew.

use std::path::Path;

use plimsoll_engine::gates::{Gate, page};

#[test]
fn the_page_is_what_the_gates_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gates.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/gates.md is not what crates/engine/src/gates.rs says; UPDATE=1 writes it anew");
}

#[test]
fn every_gate_is_told_in_sentences_and_supersedes_something() {
    for gate in Gate::ALL {
        for sentence in [gate.effect(), gate.reason()] {
            assert!(sentence.ends_with('.') && !sentence.contains("  ") && !sentence.contains('\n'), "{sentence:?}");
        }
        assert!(!gate.supersedes().is_empty(), "{}", gate.name());
        assert_eq!(Gate::from_name(gate.name()), Some(gate));
    }
}
