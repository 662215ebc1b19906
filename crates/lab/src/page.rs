//! Pages that need nothing else: text, style, script and data in one file that loads nothing.

use serde_json::Value;

/// What a page is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    /// With `{{style}}`, `{{script}}`, `{{title}}` and, after them, `{{data}}`.
    pub(crate) frame: &'static str,
    pub(crate) styles: &'static [&'static str],
    pub(crate) script: &'static str,
}

/// The look that pages share.
pub(crate) const LOOK: &str = include_str!("compare/page/page.css");

impl Parts {
    /// The page of that title with its data.
    pub(crate) fn assembled(self, title: &str, data: &Value) -> String {
        // Inside a script element only its own end tag would be heard.
        let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
        // The data last: what stands in it is not looked through again.
        self.frame
            .replace("{{style}}", &self.styles.join("\n"))
            .replace("{{script}}", self.script)
            .replace("{{title}}", &escaped(title))
            .replacen("{{data}}", &data, 1)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
