//! JSON Schemas of documents (draft 2020-12), made from the types that are written.
//!
//! ```
//! let schema = seaway_report::schema::of::<seaway_report::Summary>("summary", 1);
//! let flow = &schema["$defs"]["FlowSummary"];
//! assert_eq!(flow["properties"]["rtt_ms"]["$ref"], "#/$defs/Distribution");
//! let required = flow["required"].as_array().unwrap();
//! assert!(required.contains(&"measured_s".into()) && !required.contains(&"rtt_ms".into()));
//! ```

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of the document `name` in version `version` of its form.
pub fn of<T: JsonSchema>(name: &str, version: u32) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(AbsentIsNotNull);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), name.into());
    schema.insert("$id".into(), format!("urn:seaway:schema:{name}:{version}").into());
    schema.to_value()
}

/// A field of a summary is left out where it does not apply; only those of an `Option` can be.
pub(crate) fn require_what_is_never_absent(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    let always = properties.iter().filter(|(_, property)| !is_nullable(property));
    let always: Vec<Value> = always.map(|(name, _)| name.as_str().into()).collect();
    schema.insert("required".into(), always.into());
}

fn is_nullable(property: &Value) -> bool {
    let is_null = |schema: &Value| schema["type"] == "null";
    let types = property["type"].as_array();
    types.is_some_and(|types| types.contains(&"null".into()))
        || property["anyOf"].as_array().is_some_and(|forms| forms.iter().any(is_null))
}

/// A field that may be left out is never null.
#[derive(Debug, Clone)]
struct AbsentIsNotNull;

impl Transform for AbsentIsNotNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| required.as_array().is_some_and(|names| names.contains(&name.into()));
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        for (name, property) in properties {
            if let Some(property) = property.as_object_mut().filter(|_| !is_required(name)) {
                remove_null(property);
            }
        }
    }
}

fn remove_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    let Some(Value::Array(forms)) = property.get_mut("anyOf") else { return };
    forms.retain(|form| *form != json!({ "type": "null" }));
    if let [Value::Object(only)] = forms.as_slice() {
        let only = only.clone();
        property.remove("anyOf");
        property.extend(only);
    }
}
