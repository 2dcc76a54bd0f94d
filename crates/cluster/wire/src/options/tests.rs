use super::*;

fn refusal<T: std::fmt::Debug>(result: Result<T, ApiError>) -> String {
    let error = result.unwrap_err();
    format!("{} {}", error.code, error.message)
}

fn list(query: &str) -> Result<ListOptions, ApiError> {
    ListOptions::from_query(&Query::parse(query))
}

#[test]
fn list_options_are_read() {
    let options =
        list("labelSelector=a%3Db&limit=500&watch=1&timeoutSeconds=30&allowWatchBookmarks=true")
            .unwrap();
    assert!(options.watch && options.allow_watch_bookmarks);
    assert_eq!((options.limit, options.timeout_seconds), (500, Some(30)));
    assert!(!list("watch=false").unwrap().watch);
    assert!(list("watch=").unwrap().watch);
}

#[test]
fn list_options_that_contradict_each_other_are_refused() {
    for (query, wanted) in [
        (
            "resourceVersionMatch=Exact",
            "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "watch=1&sendInitialEvents=true",
            "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=x&resourceVersion=1",
            "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"x\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
        ),
        (
            "labelSelector=a%20b",
            "400 unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "limit=x",
            "400 strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
    ] {
        assert_eq!(refusal(list(query)), wanted, "{query}");
    }
}

#[test]
fn write_options_are_checked() {
    let create = |query: &str| CreateOptions::for_create(&Query::parse(query));
    let options = create("dryRun=All&fieldManager=me&fieldValidation=Strict").unwrap();
    assert!(options.dry_run);
    assert_eq!(options.field_validation, FieldValidation::Strict);
    assert_eq!(
        refusal(create("dryRun=maybe")),
        "422 CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"maybe\"]: supported values: \"All\""
    );
    assert_eq!(
        refusal(create("fieldValidation=Nope")),
        "422 CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Nope\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
    );
    assert_eq!(
        refusal(CreateOptions::for_update(&Query::parse(
            "fieldManager=a%07"
        ))),
        "422 UpdateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"
    );
}

#[test]
fn apply_needs_a_manager_and_others_no_force() {
    let patch = |query: &str, kind| PatchOptions::from_query(&Query::parse(query), kind);
    assert_eq!(
        refusal(patch("", PatchType::Apply)),
        "422 PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
    assert_eq!(
        refusal(patch("force=true", PatchType::Merge)),
        "422 PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch"
    );
    assert!(
        patch("fieldManager=a&force=true", PatchType::Apply)
            .unwrap()
            .force
    );
}

#[test]
fn delete_options_come_from_query_or_body() {
    let query = Query::parse("gracePeriodSeconds=0&propagationPolicy=Orphan&uid=u");
    let options = DeleteOptions::from_query(&query).unwrap();
    assert_eq!(options.grace_period_seconds, Some(0));
    assert_eq!(options.preconditions.uid.as_deref(), Some("u"));
    assert_eq!(
        refusal(DeleteOptions::from_query(&Query::parse(
            "propagationPolicy=Maybe"
        ))),
        "422 DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Maybe\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
    );
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        "preconditions": {"uid": "x", "resourceVersion": "5"}, "dryRun": ["All"]});
    let options = DeleteOptions::from_body(&body).unwrap();
    assert_eq!(options.propagation_policy.as_deref(), Some("Background"));
    assert_eq!(options.preconditions.resource_version.as_deref(), Some("5"));
    assert!(options.dry_run);
}

#[test]
fn delete_bodies_are_decoded_as_the_server_does() {
    let read = |body: &str| DeleteOptions::from_bytes(BodyFormat::Json, body.as_bytes());
    assert_eq!(
        read(r#"{"gracePeriodSeconds":5,"bogus":1}"#)
            .unwrap()
            .grace_period_seconds,
        Some(5)
    );
    for (body, wanted) in [
        (
            r#"{"gracePeriodSeconds":"x"}"#,
            "400 json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            r#"{"kind":"Pod","apiVersion":"v1"}"#,
            "400 no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            "{bad",
            "400 couldn't get version/kind; json parse error: invalid character 'b' looking for beginning of object key string",
        ),
    ] {
        assert_eq!(refusal(read(body)), wanted);
    }
    let yaml = DeleteOptions::from_bytes(BodyFormat::Yaml, b"propagationPolicy: Orphan\n");
    assert_eq!(yaml.unwrap().propagation_policy.as_deref(), Some("Orphan"));
}
