//! Mistakes in a text, and the error messages that they cause.

/// Makes each of `mistakes` in `good`, a line each: what is replaced where it is first found, by what, and a part of the
/// refusal, with ` | ` between them; `\n` is a line break.
///
/// # Panics
/// A changed text is accepted or refused otherwise.
pub fn assert_refused(good: &str, mistakes: &str, refusal: impl Fn(&str) -> Option<String>) {
    let mut wrong = Vec::new();
    for mistake in mistakes.lines() {
        let parts: Vec<_> = mistake.split(" | ").map(|part| part.replace("\\n", "\n")).collect();
        let [found, changed, expected] = &parts[..] else { panic!("{mistake:?} has not three parts") };
        assert!(good.contains(found), "{found:?} is not in the text");
        let refused = refusal(&good.replacen(found, changed, 1));
        if !refused.as_ref().is_some_and(|refusal| refusal.contains(expected)) {
            wrong.push(format!("{mistake}\n  {}", refused.as_deref().unwrap_or("accepted")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
