//! Templates that never end or grow without bound stop with an error at their place.

#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::unnecessary_box_returns, reason = "as the crate gives it")]

use gotemplate::{Context, Edition, Limit, Limits, Templates, Value};

const NAME: &str = "bad.yaml";

fn fails(text: &str) -> Box<gotemplate::ExecError> {
    let mut templates = Templates::new(Edition::Helm4);
    templates.parse(NAME, text).unwrap();
    let mut context = Context::new((0, 0), Box::new(|buffer| buffer.fill(1)));
    context.limits = Limits {
        steps: 2_000_000,
        output: 1 << 20,
        depth: 500,
    };
    templates
        .execute(NAME, Value::map([("x", Value::Nil)]), &mut context)
        .unwrap_err()
}

fn check(text: &str, limit: Limit) {
    let error = fails(text);
    assert_eq!(error.limit(), Some(limit), "{error}");
    assert!(error.location.is_some());
}

#[test]
fn a_range_over_a_huge_number_stops() {
    check("{{ range 9223372036854775807 }}x{{ end }}", Limit::Steps);
    check("{{ range until 1000000000 }}x{{ end }}", Limit::Output);
    check(
        "{{ range untilStep 0 9000000000000000000 1 }}x{{ end }}",
        Limit::Output,
    );
    check("{{ seq 1 999999999 }}", Limit::Output);
}

#[test]
fn a_text_that_doubles_stops() {
    check(
        "{{ $s := \"xxxxxxxx\" }}{{ range 60 }}{{ $s = print $s $s }}{{ end }}",
        Limit::Output,
    );
    check("{{ repeat 1000000000 \"xx\" }}", Limit::Output);
    check("{{ indent 1000000000 \"a\" }}", Limit::Output);
    check(
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = concat $l $l }}{{ end }}",
        Limit::Output,
    );
    check(
        "{{ range 1000000 }}{{ \"0123456789\" }}{{ end }}",
        Limit::Output,
    );
    check("{{ randAlphaNum 2000000000 }}", Limit::Output);
}

#[test]
fn a_list_of_itself_twice_over_prints_no_further_than_allowed() {
    let bomb = "{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}";
    check(&format!("{bomb}{{{{ $l }}}}"), Limit::Output);
    // These swallow what cannot be printed, as Helm's do.
    let mut templates = Templates::new(Edition::Helm4);
    templates
        .parse(
            NAME,
            &format!("{bomb}{{{{ toYaml $l }}}}{{{{ toJson $l }}}}"),
        )
        .unwrap();
    let mut context = Context::new((0, 0), Box::new(|buffer| buffer.fill(1)));
    assert_eq!(
        templates
            .execute(NAME, Value::Nil, &mut context)
            .unwrap()
            .text(),
        ""
    );
}

#[test]
fn a_map_that_contains_itself_is_no_trap() {
    let error = fails("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustToJson $d }}");
    assert!(error.to_string().contains("cycle"), "{error}");
    check(
        "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $d }}",
        Limit::Output,
    );
}

#[test]
fn a_template_that_calls_itself_stops_with_go_s_words() {
    let error = fails("{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}");
    assert_eq!(
        error.to_string(),
        "template: bad.yaml:1:28: executing \"a\" at <{{template \"a\"}}>: \
         exceeded maximum template depth (100000)"
    );
}

#[test]
fn an_include_of_itself_stops_with_helm_s_words() {
    let error = fails("{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}");
    let text = error.to_string();
    let end = "rendering template has a nested reference name: a: unable to execute template";
    assert!(text.ends_with(end), "{}", &text[text.len() - 200..]);
    assert_eq!(text.matches("error calling include").count(), 1002);
}

#[test]
fn a_tpl_of_itself_stops() {
    let bomb = "{{ $t := `{{ tpl .t . }}` }}{{ tpl $t (dict \"t\" $t) }}";
    let error = fails(bomb);
    assert!(error.limit().is_some(), "no limit was met");
}

#[test]
fn deep_nesting_is_a_parse_error() {
    let mut templates = Templates::new(Edition::Helm4);
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(50_000), ")".repeat(50_000));
    let error = templates.parse(NAME, &deep).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template: bad.yaml:1: max expression depth exceeded"
    );
    let deep = "{{ if 1 }}".repeat(50_000);
    assert!(templates.parse(NAME, &deep).is_err());
    let wide = "{{ if 1 }}x{{ else if 2 }}".to_owned() + &"{{ else if 3 }}".repeat(5000);
    assert!(templates.parse(NAME, &wide).is_err());
}
