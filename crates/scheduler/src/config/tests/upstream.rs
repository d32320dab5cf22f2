//! The table of fields is upstream's: no field is missing, none is made up, each has its type.

use std::collections::BTreeSet;

use super::super::fields::types;
use super::super::schema::Shape;

/// Made from the Go types of kube-scheduler 1.37.1: `e2e/oracle/fields/main.go` has the command.
const UPSTREAM: &str = include_str!("../upstream_fields.txt");

fn written(shape: Shape) -> String {
    match shape {
        Shape::List(of) => format!("List({})", written(*of)),
        Shape::Object(of) => of.name.to_owned(),
        shape => format!("{shape:?}"),
    }
}

#[test]
fn every_field_of_upstreams_types_is_known_with_its_shape() {
    let fields = types().into_iter().flat_map(|of| of.fields.iter().map(move |field| (of, field)));
    let ours: BTreeSet<String> =
        fields.map(|(of, field)| format!("{}.{} {}", of.name, field.name, written(field.shape))).collect();
    let upstream: BTreeSet<String> = UPSTREAM.lines().map(str::to_owned).collect();
    assert!(upstream.len() > 120);
    assert_eq!(ours, upstream);
}
