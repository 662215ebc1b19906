//! The kit of pages: one skeleton, one theme, one set of scripts. A page is one file that loads nothing.

use crate::colours;
use serde_json::Value;

/// A page. Its texts are plain; its body is HTML.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// What made it: `compare`.
    pub kind: &'a str,
    /// Its title.
    pub title: &'a str,
    /// A sentence below the title; may be empty.
    pub about: &'a str,
    /// Short facts below that.
    pub facts: &'a [String],
    /// The HTML between header and footer.
    pub body: &'a str,
    /// Styles beside the theme.
    pub style: &'a str,
    /// Scripts beside the kit, in order; without any the page has no script.
    pub scripts: &'a [&'a str],
    /// The data that the scripts read; `Null` for none.
    pub data: &'a Value,
    /// What a reader should know of the numbers; may be empty.
    pub note: &'a str,
    /// The command that made the page; empty for a live one.
    pub command: &'a str,
}

impl Page<'_> {
    /// The HTML document.
    pub fn html(&self) -> String {
        let facts: String = self.facts.iter().map(|fact| format!("<li>{}</li>", escaped(fact))).collect();
        let command = match self.command {
            "" => String::new(),
            command => format!(" Made by <code>{}</code>", escaped(command)),
        };
        let footer = format!("Seaway {}. {}{command}", crate::VERSION, escaped(self.note));
        let style = [colours::properties().as_str(), THEME, self.style].join("\n");
        // What is filled in last is not searched for further places.
        include_str!("skeleton.html")
            .replace("{{style}}", &style)
            .replace("{{kind}}", &escaped(self.kind))
            .replace("{{title}}", &escaped(self.title))
            .replace("{{about}}", &escaped(self.about))
            .replace("{{facts}}", &facts)
            .replace("{{footer}}", &footer)
            .replace("{{body}}", self.body)
            .replacen("{{script}}", &self.script(), 1)
    }

    fn script(&self) -> String {
        if self.scripts.is_empty() {
            return String::new();
        }
        let script = format!("<script>\n{}\n{}\n</script>", include_str!("kit.js"), self.scripts.join("\n"));
        if self.data.is_null() {
            return script;
        }
        // In a script element only an end tag and the start of a comment have a meaning.
        let data = self.data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
        format!("<script type=\"application/json\" id=\"data\">{data}</script>\n{script}")
    }
}

const THEME: &str = include_str!("theme.css");

/// The text with the characters escaped that HTML gives a meaning.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_data_stay_what_they_are() {
        let data = Value::from("</script><!-- {{body}}");
        let page = Page {
            kind: "test",
            title: "a < b",
            about: "",
            facts: &["1 & 2".to_owned()],
            body: "<main></main>",
            style: "",
            scripts: &["pageData();"],
            data: &data,
            note: "",
            command: "seaway 'x'",
        };
        let html = page.html();
        assert!(html.contains("<h1>a &lt; b</h1>") && html.contains("<li>1 &amp; 2</li>"), "{html}");
        assert!(html.contains(r#"id="data">"<\/script><\u0021-- {{body}}"</script>"#), "{html}");
        assert!(html.contains("Made by <code>seaway 'x'</code>"));
        let without = Page { scripts: &[], ..page }.html();
        assert!(!without.contains("<script"));
    }
}
