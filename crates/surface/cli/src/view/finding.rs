//! A finding as people read it, and as data.
//!
//! ```text
//! error[G09]: web.yaml:4: mapping values are not allowed in this context
//!   --> web.yaml:4:10
//!    |
//!  3 | metadata:
//!  4 |   name: a: b
//!    |          ^ mapping values are not allowed in this context
//!   fix: quote the value: `name: "a: b"`
//! ```

use super::{Colour, Paint};
use model::{Evidence, Finding, Fix, Map, Place, Remedy, Severity, Value, json};

/// Longer lines are cut around the caret, in characters.
const WIDTH_MAX: usize = 160;

/// A finding for people; ends with a line break.
pub(crate) fn text(finding: &Finding, paint: Paint) -> String {
    let mut out = String::new();
    let colour = match finding.severity {
        Severity::Error => Colour::Red,
        Severity::Warning => Colour::Yellow,
        Severity::Info => Colour::Blue,
    };
    let head = format!("{}[{}]", finding.severity.word(), finding.code);
    line(
        &mut out,
        &format!(
            "{}: {}",
            paint.paint(colour, &head),
            paint.paint(Colour::Bold, &clean(&finding.summary))
        ),
    );
    for evidence in &finding.evidence {
        self::evidence(&mut out, finding, evidence, colour, paint);
    }
    let known = finding.summary.contains(finding.culprit.as_str());
    if !finding.culprit.is_empty() && !known && finding.evidence.iter().all(|e| e.place.is_none()) {
        line(
            &mut out,
            &format!(
                "  {} {}",
                paint.paint(Colour::Blue, "culprit:"),
                clean(&finding.culprit)
            ),
        );
    }
    for blocked in &finding.blocked {
        line(
            &mut out,
            &format!(
                "  {} {}",
                paint.paint(Colour::Blue, "blocked:"),
                clean(blocked)
            ),
        );
    }
    for fix in &finding.fix {
        self::fix(&mut out, fix, paint);
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

// What comes from files and servers must not steer the terminal.
fn clean(text: &str) -> String {
    let keep = |c: char| {
        if c.is_control() && c != '\n' && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(keep).collect()
}

fn evidence(
    out: &mut String,
    finding: &Finding,
    evidence: &Evidence,
    colour: Colour,
    paint: Paint,
) {
    let says = clean(&evidence.says);
    match &evidence.place {
        Some(place) => excerpt(out, place, &says, colour, paint),
        None if says.is_empty() || finding.summary.contains(&says) => {}
        None => {
            let source = paint.paint(Colour::Blue, &format!("{}:", clean(&evidence.source)));
            let mut lines = says.lines();
            line(out, &format!("  {source} {}", lines.next().unwrap_or("")));
            for more in lines {
                line(out, &format!("    {more}"));
            }
        }
    }
}

fn excerpt(out: &mut String, place: &Place, says: &str, colour: Colour, paint: Paint) {
    let at = match (place.line, place.column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    };
    let arrow = paint.paint(Colour::Blue, "-->");
    line(out, &format!("  {arrow} {}{at}", clean(&place.file)));
    if place.text.is_empty() || place.line == 0 {
        return;
    }
    let last = place.first_line + place.text.lines().count();
    let gutter = last.to_string().len().max(2);
    let bar = paint.paint(Colour::Blue, "|");
    line(out, &format!("{:gutter$} {bar}", ""));
    for (index, content) in place.text.lines().enumerate() {
        let number = place.first_line + index;
        let (shown, shift) = cut(content, place);
        let label = paint.paint(Colour::Blue, &format!("{number:gutter$}"));
        line(out, &format!("{label} {bar} {}", clean(&shown)));
        if number == place.line && place.column > 0 {
            let before: String = content
                .chars()
                .take(place.column - 1)
                .skip(shift)
                .map(blank)
                .collect();
            let mark = paint.paint(colour, &"^".repeat(width(place, content)));
            let says = paint.paint(colour, says.lines().next().unwrap_or(""));
            line(out, &format!("{:gutter$} {bar} {before}{mark} {says}", ""));
        }
    }
}

// Tabs stay, so that the caret stands below its character.
fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

fn width(place: &Place, content: &str) -> usize {
    let rest = content.chars().count().saturating_sub(place.column - 1);
    place.width.clamp(1, rest.max(1)).min(WIDTH_MAX)
}

// The part of a line around the caret, and how many characters were left out before it.
fn cut(content: &str, place: &Place) -> (String, usize) {
    let length = content.chars().count();
    if length <= WIDTH_MAX {
        return (content.to_owned(), 0);
    }
    let shift = place.column.saturating_sub(WIDTH_MAX / 2);
    (content.chars().skip(shift).take(WIDTH_MAX).collect(), shift)
}

fn fix(out: &mut String, fix: &Fix, paint: Paint) {
    let word = if fix.destructive {
        "fix (loses data):"
    } else {
        "fix:"
    };
    let title = clean(&fix.title);
    line(
        out,
        &format!("  {} {title}", paint.paint(Colour::Green, word)),
    );
    match &fix.how {
        Remedy::Command(command) => line(out, &format!("    $ {}", clean(command))),
        Remedy::Git { file, patch } => {
            line(out, &format!("    in {}:", clean(file)));
            for text in clean(patch).lines() {
                line(out, &format!("    {text}"));
            }
        }
        Remedy::Application(patch) => line(out, &format!("    patch for the Application: {patch}")),
        Remedy::Advice(advice) if *advice == fix.title => {}
        Remedy::Advice(advice) => line(out, &format!("    {}", clean(advice))),
    }
}

/// A finding as data.
pub(crate) fn json(finding: &Finding) -> Value {
    let mut out = Map::new();
    let mut set = |name: &str, value: Value| {
        out.insert(name.into(), value);
    };
    set("code", json!(finding.code));
    set("slug", json!(finding.slug));
    set("severity", json!(finding.severity.word()));
    set("moment", json!(finding.moment.word()));
    set("summary", json!(finding.summary));
    if let Some(subject) = &finding.subject {
        set(
            "subject",
            json!({
                "group": subject.group, "kind": subject.kind,
                "namespace": subject.namespace, "name": subject.name,
            }),
        );
    }
    set("culprit", json!(finding.culprit));
    set(
        "evidence",
        finding.evidence.iter().map(evidence_json).collect(),
    );
    set("blocked", json!(finding.blocked));
    set("fix", finding.fix.iter().map(fix_json).collect());
    set("prevent", json!(finding.prevent));
    if let Some(since) = &finding.since {
        set("since", json!(since.to_string()));
    }
    Value::Object(out)
}

fn evidence_json(evidence: &Evidence) -> Value {
    let mut out = json!({"source": evidence.source, "says": evidence.says});
    if let Some(place) = &evidence.place {
        out["place"] = json!({
            "file": place.file, "line": place.line, "column": place.column,
            "width": place.width, "firstLine": place.first_line, "text": place.text,
        });
    }
    out
}

fn fix_json(fix: &Fix) -> Value {
    let mut out = json!({"title": fix.title, "destructive": fix.destructive});
    match &fix.how {
        Remedy::Command(command) => out["command"] = json!(command),
        Remedy::Git { file, patch } => out["git"] = json!({"file": file, "patch": patch}),
        Remedy::Application(patch) => out["application"] = patch.clone(),
        Remedy::Advice(advice) => out["advice"] = json!(advice),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding {
            culprit: "web.yaml:3:8".into(),
            evidence: vec![Evidence {
                source: "web.yaml".into(),
                says: "not so".into(),
                place: Some(Place {
                    width: 4,
                    ..Place::in_text("web.yaml", "a: 1\nb:\n\tname: a: b\n", 3, 8)
                }),
            }],
            fix: vec![
                Fix {
                    title: "quote it".into(),
                    how: Remedy::Advice("quote it".into()),
                    destructive: false,
                },
                Fix {
                    title: "start anew".into(),
                    how: Remedy::Command("rm web.yaml".into()),
                    destructive: true,
                },
            ],
            ..Finding::new("G09", "yaml-syntax", "web.yaml:3: not so")
        }
    }

    #[test]
    fn people_see_the_place_and_the_way_out() {
        assert_eq!(
            text(&finding(), Paint::Plain),
            "error[G09]: web.yaml:3: not so
  --> web.yaml:3:8
   |
 1 | a: 1
 2 | b:
 3 | \tname: a: b
   | \t      ^^^^ not so
  fix: quote it
  fix (loses data): start anew
    $ rm web.yaml
"
        );
        assert!(text(&finding(), Paint::Colour).starts_with("\x1b[1;31merror[G09]\x1b[0m: "));
    }

    #[test]
    fn nothing_that_was_read_steers_the_terminal() {
        let shown = text(&Finding::new("G09", "x", "a\x1b[2Jb"), Paint::Plain);
        assert_eq!(shown, "error[G09]: a\u{fffd}[2Jb\n");
    }

    #[test]
    fn programs_see_all_of_it() {
        let data = json(&finding());
        assert_eq!(data["evidence"][0]["place"]["line"], 3);
        assert_eq!(data["fix"][1]["command"], "rm web.yaml");
        assert_eq!(data["severity"], "error");
    }
}
