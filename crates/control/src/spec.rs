//! A controller's name and options as text: `multfrc(max=8)`.

use std::fmt;
use std::str::FromStr;

/// A name with options in parentheses, as written in a scenario or on the command line. Whether the name and
/// the options exist is for the [registry](crate::Registry) to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlSpec {
    /// Which controller.
    pub name: String,
    /// Its options in the order written.
    pub options: Vec<(String, String)>,
}

/// Why a text does not name a controller: the offending text and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    found: String,
    problem: String,
}

impl SpecError {
    /// An error about the piece of text `found`, of which no more is quoted than a person would read.
    pub fn new(found: &str, problem: impl Into<String>) -> Self {
        Self { found: found.chars().take(60).collect(), problem: problem.into() }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.found, self.problem)
    }
}

impl std::error::Error for SpecError {}

impl FromStr for ControlSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        const LONGEST: usize = 512;
        let trimmed = text.trim();
        if trimmed.len() > LONGEST {
            return Err(SpecError::new(trimmed, format!("longer than {LONGEST} characters")));
        }
        let (name, options) = match trimmed.split_once('(') {
            None => (trimmed, ""),
            Some((name, rest)) => {
                let closed = rest.strip_suffix(')');
                (name.trim_end(), closed.ok_or_else(|| SpecError::new(trimmed, "expected \")\" at the end"))?)
            }
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_+.".contains(c)) {
            return Err(SpecError::new(trimmed, "expected a name such as tfrc, or tfrc(count=4)"));
        }
        let options = options.split(',').map(str::trim).filter(|option| !option.is_empty());
        Ok(Self { name: name.to_owned(), options: options.map(key_value).collect::<Result<_, _>>()? })
    }
}

fn key_value(option: &str) -> Result<(String, String), SpecError> {
    let (key, value) = option.split_once('=').ok_or_else(|| SpecError::new(option, "expected key=value"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

impl fmt::Display for ControlSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let mut separator = "(";
        for (key, value) in &self.options {
            write!(f, "{separator}{key}={value}")?;
            separator = ", ";
        }
        f.write_str(if self.options.is_empty() { "" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form() {
        let spec: ControlSpec = " tfrc( profile = ns2, t_rto=0.3 s ) ".parse().unwrap();
        assert_eq!(spec.to_string(), "tfrc(profile=ns2, t_rto=0.3 s)");
        assert_eq!("window".parse::<ControlSpec>().unwrap().to_string(), "window");
        for wrong in ["", "(", "tfrc(", "tfrc(a)", "tf rc", "tfrc)", &"x".repeat(600)] {
            assert!(wrong.parse::<ControlSpec>().is_err(), "{wrong}");
        }
    }
}
