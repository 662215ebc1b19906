//! Changes to a scenario from the command line: `flow.video.control=nada`.

use seaway_control::nearest;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A value for a key, named by its path.
///
/// The path's first part is a top-level key. Behind the name of a list (`flow`, `link`) stands the `name` of one
/// of its entries (the `node` of an `attach`), then keys. The value is TOML where it reads as TOML, else a string without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    path: Vec<String>,
    value: String,
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?}: expected key=value, such as flow.video.control=tfrc"))?;
        let path: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(format!("{text:?}: a part of the key is empty"));
        }
        Ok(Self { path, value: value.trim().to_owned() })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path.join("."), self.value)
    }
}

impl Override {
    /// Writes the value into the table; everything in it is said to stand at `span`.
    pub(crate) fn apply<'a>(&'a self, root: &mut DeTable<'a>, span: Range<usize>) -> Result<(), String> {
        let (last, parents) = self.path.split_last().ok_or("the key is empty")?;
        let mut table = root;
        let mut parents = parents.iter();
        while let Some(key) = parents.next() {
            let inner = table
                .entry(Spanned::new(span.clone(), key.as_str().into()))
                .or_insert_with(|| Spanned::new(span.clone(), DeValue::Table(DeTable::new())))
                .get_mut();
            table = match inner {
                DeValue::Table(table) => table,
                DeValue::Array(items) => {
                    let name = parents.next().ok_or_else(|| format!("`{key}` is a list: name one of it"))?;
                    named(items, key, name)?
                }
                other => {
                    return Err(format!("`{key}` is of type {}, it has no keys inside", other.type_str()));
                }
            };
        }
        if table.get(last.as_str()).is_some_and(|old| is_list_of_tables(old.get_ref())) {
            return Err(format!("`{last}` is a list: name one of it"));
        }
        table.insert(Spanned::new(span.clone(), last.as_str().into()), self.value(&span));
        Ok(())
    }

    fn value(&self, span: &Range<usize>) -> Spanned<DeValue<'_>> {
        match DeValue::parse(&self.value) {
            Ok(value) => moved(value, span),
            Err(_) => Spanned::new(span.clone(), DeValue::String(self.value.as_str().into())),
        }
    }
}

fn is_list_of_tables(value: &DeValue<'_>) -> bool {
    value.as_array().is_some_and(|items| items.iter().any(|item| item.get_ref().is_table()))
}

/// The entry of `items` that is called `name`; one without a name goes by its `node` or its `kind`.
fn named<'t, 'a>(items: &'t mut DeArray<'a>, list: &str, name: &str) -> Result<&'t mut DeTable<'a>, String> {
    let names: Vec<Option<String>> =
        items.iter().map(|item| name_of(item.get_ref()).map(str::to_owned)).collect();
    let found = names.iter().position(|candidate| candidate.as_deref() == Some(name));
    if let Some(DeValue::Table(table)) = found.and_then(|index| items.get_mut(index)).map(Spanned::get_mut) {
        return Ok(table);
    }
    let known = names.iter().flatten().map(String::as_str);
    let advice =
        if known.clone().next().is_some() { nearest(name, known) } else { "none has a name".to_owned() };
    Err(format!("there is no {list} named `{name}`; {advice}"))
}

fn name_of<'v>(item: &'v DeValue<'_>) -> Option<&'v str> {
    let table = item.as_table()?;
    ["name", "node", "kind"].iter().find_map(|key| table.get(*key))?.get_ref().as_str()
}

/// The same value, said to stand at `span` throughout.
fn moved<'a>(value: Spanned<DeValue<'a>>, span: &Range<usize>) -> Spanned<DeValue<'a>> {
    let mut value = value.into_inner();
    match &mut value {
        DeValue::Array(items) => {
            for item in items.iter_mut() {
                let inner = std::mem::replace(item.get_mut(), DeValue::Boolean(false));
                *item = moved(Spanned::new(0..0, inner), span);
            }
        }
        DeValue::Table(table) => {
            let entries = std::mem::take(table).into_iter();
            *table = entries
                .map(|(key, value)| (Spanned::new(span.clone(), key.into_inner()), moved(value, span)))
                .collect();
        }
        _ => {}
    }
    Spanned::new(span.clone(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, change: &str) -> Result<String, String> {
        let change: Override = change.parse()?;
        let mut root = DeTable::parse(text).unwrap().into_inner();
        change.apply(&mut root, 0..0)?;
        Ok(format!("{root:?}"))
    }

    const FLOW: &str = "seed = 1\n[[flow]]\nname = \"video\"\ncontrol = \"tfrc\"\n[[flow]]\nkind = \"tcp\"";

    #[test]
    fn sets_keys_by_path() {
        assert!(applied(FLOW, "flow.video.control=multfrc(max=8)").unwrap().contains("multfrc(max=8)"));
        assert!(applied(FLOW, "flow.tcp.delayed_ack=true").unwrap().contains("Boolean(true)"));
        assert!(applied(FLOW, "flow.video.rate.max=2 Mbit/s").unwrap().contains("2 Mbit/s"));
        assert!(applied(FLOW, "seed=7").unwrap().contains('7'));
        let attach = "[[attach]]\nnode = \"client\"\ntun = \"a\"";
        assert!(applied(attach, "attach.client.tun=b").unwrap().contains("\"b\""));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(
            applied(FLOW, "flow.vido.control=x").unwrap_err(),
            "there is no flow named `vido`; did you mean video?"
        );
        assert_eq!(applied(FLOW, "flow=x").unwrap_err(), "`flow` is a list: name one of it");
        let expect = "[[expect]]\nof = \"flow.video.received_bps\"";
        assert_eq!(
            applied(expect, "expect.x.min=1").unwrap_err(),
            "there is no expect named `x`; none has a name"
        );
        assert_eq!(
            applied(FLOW, "seed.x=1").unwrap_err(),
            "`seed` is of type integer, it has no keys inside"
        );
        assert!(applied(FLOW, "seed").unwrap_err().contains("expected key=value"));
        assert!(applied(FLOW, "a..b=1").unwrap_err().contains("empty"));
    }
}
