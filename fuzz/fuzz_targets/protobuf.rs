//! Protobuf: any bytes are a message of a kind or an error, and what was read once is read the same after it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_schema::decode::{self, Report};
use plimsoll_schema::{Schema, Table, Type, protobuf};

fuzz_target!(|input: &[u8]| {
    let table = Table::builtin();
    if let Ok(envelope) = protobuf::decode(input) {
        let (group, version) = envelope.api_version.split_once('/').unwrap_or(("", &envelope.api_version));
        if let Some(id) = table.kind(group, version, &envelope.kind) {
            message(&table, &Type::Struct(id), envelope.raw);
        }
    }
    // The same without an envelope, which mutations break easily: two bytes choose the type.
    let Some((choice, raw)) = input.split_at_checked(2) else { return };
    let choice = usize::from(u16::from_le_bytes([choice[0], choice[1]]));
    let count = table.types().count();
    if let Some((id, _)) = table.types().nth(choice % count) {
        message(&table, &Type::Struct(id), raw);
    }
});

fn message(table: &Table, ty: &Type, raw: &[u8]) {
    let schema = Schema::new(table, ty);
    let Ok(value) = protobuf::decode_message(schema, raw) else { return };
    assert!(value.is_object(), "{value}");
    let Ok(object) = decode::canonical(schema, value, &mut Report::default()) else { return };
    let written = protobuf::encode_message(schema, &object);
    let Ok(again) = protobuf::decode_message(schema, &written) else {
        panic!("what was written cannot be read: {object}")
    };
    if let Ok(again) = decode::canonical(schema, again, &mut Report::default()) {
        assert_eq!(again, object);
    }
}
