//! Replays what a real kube-apiserver 1.37.1 answered (`tests/data/columns`, descriptions and field ownership left out).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn lines(text: &'static str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn now(line: &Value) -> Timestamp {
    line["now"].as_str().unwrap().parse().unwrap()
}

fn kind(line: &Value) -> Kind<'_> {
    let part = |name: &str| line[name].as_str().unwrap();
    Kind::new(part("group"), part("version"), part("kind"))
}

fn without_descriptions(columns: Value) -> Value {
    let mut columns = columns;
    for column in columns.as_array_mut().into_iter().flatten() {
        column.as_object_mut().unwrap().remove("description");
    }
    columns
}

fn title(line: &Value) -> String {
    format!("{} {}", kind(line), line["object"]["metadata"]["name"])
}

/// All differences at once: a table of them says more than the first.
fn report(differences: Vec<String>) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn built_in_kinds_show_what_upstream_shows() {
    let mut differences = Vec::new();
    for line in lines(include_str!("../../tests/data/columns/cells.jsonl")) {
        let columns = without_descriptions(definitions(kind(&line)).iter().map(Column::to_json).collect());
        let ours = json!(cells(kind(&line), &line["object"], now(&line)));
        let conditions = object_table(
            kind(&line),
            Content::One(&line["object"]),
            TableOptions { include: Include::None, ..TableOptions::default() },
            now(&line),
        )["rows"][0]["conditions"]
            .clone();
        for (part, ours) in [("columns", columns), ("cells", ours), ("conditions", conditions)] {
            if ours != line[part] {
                differences.push(format!("{}\n  ours   {ours}\n  theirs {}", title(&line), line[part]));
            }
        }
    }
    report(differences);
}

#[test]
fn custom_resources_show_what_upstream_shows() {
    let mut differences = Vec::new();
    for line in lines(include_str!("../../tests/data/columns/custom.jsonl")) {
        let version = &line["crd"];
        let columns = if line["scale"] == true { CustomColumns::scale(version) } else { CustomColumns::new(version) };
        let header = without_descriptions(columns.definitions().into());
        if header != line["columns"] {
            differences.push(format!("{}\n  ours   {header}\n  theirs {}", title(&line), line["columns"]));
        }
        let ours = columns.cells(&line["object"], now(&line));
        let theirs = line["cells"].as_array().unwrap();
        for (i, column) in header.as_array().unwrap().iter().enumerate() {
            if ours[i] != theirs[i] {
                let at = format!("{} {}", title(&line), column["name"]);
                differences.push(format!("{at}\n  ours   {}\n  theirs {}", ours[i], theirs[i]));
            }
        }
    }
    report(differences);
}

#[test]
fn tables_are_upstreams_as_a_whole() {
    let mut differences = Vec::new();
    for line in lines(include_str!("../../tests/data/columns/tables.jsonl")) {
        let items = line["items"].as_array().unwrap();
        let content = match line.get("list") {
            Some(metadata) => Content::List { items, metadata },
            None => Content::One(&items[0]),
        };
        let options = TableOptions {
            include: Include::from_query(line["include"].as_str().unwrap()).unwrap(),
            headers: line.get("first").is_none_or(|first| first == true),
            version: line["metaVersion"].as_str().unwrap(),
        };
        let mut ours = match line.get("crd") {
            Some(version) => custom_table(&CustomColumns::new(version), content, options, now(&line)),
            None => object_table(kind(&line), content, options, now(&line)),
        };
        ours["columnDefinitions"] = without_descriptions(ours["columnDefinitions"].take());
        if ours != line["table"] {
            let at = format!("{} {} {}", kind(&line), line["event"], line["include"]);
            differences.push(format!("{at}\n  ours   {ours}\n  theirs {}", line["table"]));
        }
    }
    report(differences);
}

#[test]
fn any_json_is_an_object_to_print() {
    let odd = [json!(null), json!([]), json!({}), json!({"metadata": 3, "spec": [], "status": {"conditions": {}}})];
    let table = plimsoll_schema::Table::builtin();
    for group in table.groups() {
        for resource in &group.resources {
            let kind = Kind::new(&group.group, &group.version, &resource.response_kind.kind);
            for object in &odd {
                let cells = cells(kind, object, Timestamp::UNIX_EPOCH).len();
                // Upstream sends an age with addresses that no column names.
                let surplus = usize::from(kind.kind == "IPAddress");
                assert_eq!(cells, definitions(kind).len() + surplus, "{kind}");
            }
        }
    }
}

#[test]
fn paths_that_cannot_be_read_end_the_columns() {
    let deep = "[?(@.a".repeat(1000);
    for path in ["[", "[?(", "[?(@.a==", ".a[x]", "..", "....a", "\"", "'\\q'", "é!", "{range .a}", &deep] {
        let version = json!({ "additionalPrinterColumns": [{ "name": "A", "type": "string", "jsonPath": path }] });
        let cells = CustomColumns::new(&version).cells(&json!({ "a": [{}] }), Timestamp::UNIX_EPOCH);
        assert!(cells.len() <= 2, "{path}");
    }
}
