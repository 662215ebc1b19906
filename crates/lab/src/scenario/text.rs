//! Where the text of a scenario comes from.

/// The text of a scenario and where it comes from.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// Its name in messages.
    pub file: &'a str,
    /// Its content.
    pub text: &'a str,
    /// Reads a file that it names, or says why it cannot. Names are relative to the scenario.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

impl<'a> Text<'a> {
    /// A scenario that can name no files.
    pub fn alone(file: &'a str, text: &'a str) -> Self {
        Self { file, text, read: &|_| Err("no file can be read here".to_owned()) }
    }
}
