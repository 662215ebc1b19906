//! The colours of pages and plots: for light and dark surroundings.

/// Name, light and dark. The numbered ones are those of controllers, flows and curves: Okabe and Ito's, which
/// colour-blind readers can distinguish, with more contrast.
const COLOURS: [(&str, &str, &str); 20] = [
    ("paper", "#fbfbfa", "#0f1214"),
    ("card", "#fff", "#171b1f"),
    ("ink", "#15191d", "#e8ebee"),
    ("soft", "#5c6670", "#97a2ad"),
    ("line", "#e2e5e8", "#2a3036"),
    ("grid", "#eceef0", "#22272c"),
    ("accent", "#0a5ea8", "#6db3f8"),
    ("capacity", "#8b95a0", "#6b7680"),
    ("fill", "#8b95a022", "#6b768026"),
    ("shadow", "0 1px 2px #0f172a14, 0 4px 16px #0f172a0a", "0 1px 2px #0008"),
    ("good", "#0b7a4b", "#4cc38a"),
    ("bad", "#b3261e", "#ff8a80"),
    ("c0", "#0072b2", "#56a8e8"),
    ("c1", "#d55e00", "#ff8a4c"),
    ("c2", "#00916a", "#3ecf9f"),
    ("c3", "#b8578f", "#e68fc0"),
    ("c4", "#b07d00", "#f0c04a"),
    ("c5", "#2f9fd8", "#7fd1ff"),
    ("c6", "#6b4fbb", "#b39bff"),
    ("c7", "#4d4d4d", "#c4c9ce"),
];

/// The numbered colours; beyond them curves repeat them, dashed.
pub(crate) const NUMBERED: usize = 8;

/// A style sheet with each `$name` replaced by its colour, for light surroundings and once more for dark ones.
pub(crate) fn resolved(style: &str) -> String {
    format!("{}@media(prefers-color-scheme:dark){{{}}}", light(style), dark(style))
}

/// The same for light surroundings alone.
pub(crate) fn light(style: &str) -> String {
    with(style, |entry| entry.1)
}

/// The same for dark ones.
pub(crate) fn dark(style: &str) -> String {
    with(style, |entry| entry.2)
}

fn with(style: &str, colour: fn(&(&str, &'static str, &'static str)) -> &'static str) -> String {
    // Later names are not the beginning of earlier ones.
    COLOURS
        .iter()
        .fold(style.to_owned(), |style, entry| style.replace(&format!("${}", entry.0), colour(entry)))
}

/// The colours as properties of the root element.
pub(crate) fn properties() -> String {
    let each = COLOURS.iter().map(|(name, ..)| format!("--{name}:${name};"));
    resolved(&format!(":root{{{}}}", each.collect::<String>()))
}
