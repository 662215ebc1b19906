//! Documents beside the schemas that the binary prints of them.

use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Asserts that `document` has every field that the schema `name` requires, each as it is described, and no other.
pub(crate) fn check(name: &'static str, document: &Value) {
    let problems = problems(name, document);
    assert!(problems.is_empty(), "{name}: {problems:#?}");
}

/// Where `document` is not as the schema `name` has it.
pub(crate) fn problems(name: &'static str, document: &Value) -> Vec<String> {
    static VALIDATORS: Mutex<Option<BTreeMap<&str, Validator>>> = Mutex::new(None);
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validator = validators.get_or_insert_default().entry(name).or_insert_with(|| {
        let mut schema = printed(name);
        close(&mut schema, false);
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The schema as the binary prints it.
pub(crate) fn printed(name: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_seaway")).args(["schema", name]).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A reader of documents ignores fields that it does not know, so that they can be added. Here each must be described.
/// `is_part`: the schema describes some of the fields of an object that is closed further out.
fn close(schema: &mut Value, is_part: bool) {
    match schema {
        Value::Object(fields) => {
            let describes_fields = fields.get("properties").is_some_and(Value::is_object);
            for (key, value) in fields.iter_mut() {
                let is_same_object = ["allOf", "anyOf", "oneOf"].contains(&key.as_str());
                close(value, is_same_object && (is_part || describes_fields));
            }
            if describes_fields && !is_part {
                fields.insert("unevaluatedProperties".into(), false.into());
            }
        }
        Value::Array(forms) => forms.iter_mut().for_each(|form| close(form, is_part)),
        _ => {}
    }
}

/// The records of a log in qlog's form (RFC 7464), each as the schema has it: the header first.
pub(crate) fn records(log: &str) -> Vec<Value> {
    let texts: Vec<&str> = log.split(char::from(0x1e)).collect();
    assert_eq!(texts[0], "", "a record begins with its separator");
    let record = |text: &&str| {
        assert!(text.ends_with('\n'), "{text}");
        let record = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        check("qlog", &record);
        record
    };
    let records: Vec<Value> = texts[1..].iter().map(record).collect();
    assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    records
}
