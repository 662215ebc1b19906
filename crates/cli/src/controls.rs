//! Lists of controllers on the command line.

use crate::failure::Failure;
use seaway_control::ControlSpec;

/// The controllers that stand in these lists, such as `tfrc,'multfrc(max=8)'`, each once.
pub(crate) fn parse(lists: &[String]) -> Result<Vec<ControlSpec>, Failure> {
    let mut controls: Vec<ControlSpec> = Vec::new();
    for word in lists.iter().flat_map(|list| split(list)) {
        let control =
            word.parse::<ControlSpec>().map_err(|error| Failure::input(&format!("--control: {error}")))?;
        if controls.contains(&control) {
            return Err(Failure::input(&format!("--control: {control} is there twice")));
        }
        controls.push(control);
    }
    Ok(controls)
}

/// At commas outside parentheses.
fn split(list: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let at_comma = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth <= 0
    };
    list.split(at_comma).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_parentheses_separate_options() {
        assert_eq!(split("tfrc,multfrc(max=8,x=1), nada"), ["tfrc", "multfrc(max=8,x=1)", "nada"]);
        assert_eq!(split("tfrc"), ["tfrc"]);
    }
}
