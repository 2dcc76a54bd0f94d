use super::*;
use expect_test::expect;

fn spec() -> TokenSpec {
    TokenSpec {
        issuer: "https://kubernetes.default.svc".into(),
        audiences: vec!["https://kubernetes.default.svc".into()],
        namespace: "dev".into(),
        account: Named {
            name: "default".into(),
            uid: "u1".into(),
        },
        pod: Some(Named {
            name: "p1".into(),
            uid: "u2".into(),
        }),
        id: "j1".into(),
        lifetime_seconds: 3600,
        ..TokenSpec::default()
    }
}

#[test]
fn claims_and_back() {
    let now = Timestamp::from_seconds(1_794_779_597);
    let claims = claims_for(&spec(), now);
    expect![[r#"{"aud":["https://kubernetes.default.svc"],"exp":1794783197,"iat":1794779597,"iss":"https://kubernetes.default.svc","jti":"j1","kubernetes.io":{"namespace":"dev","pod":{"name":"p1","uid":"u2"},"serviceaccount":{"name":"default","uid":"u1"}},"nbf":1794779597,"sub":"system:serviceaccount:dev:default"}"#]]
        .assert_eq(&claims.to_string());
    let user = user_from_claims(&claims, now).unwrap();
    expect![[r#"
        system:serviceaccount:dev:default u1
        ["system:serviceaccounts", "system:serviceaccounts:dev", "system:authenticated"]
        {"authentication.kubernetes.io/credential-id": ["JTI=j1"], "authentication.kubernetes.io/pod-name": ["p1"], "authentication.kubernetes.io/pod-uid": ["u2"]}"#]]
        .assert_eq(&format!("{} {}\n{:?}\n{:?}", user.name, user.uid, user.groups, user.extra));
}

#[test]
fn stale_foreign_and_forged_claims_are_refused() {
    let now = Timestamp::from_seconds(1000);
    let claims = claims_for(&spec(), now);
    let read = |claims: &Value, issuer: &str, audience: &str, at: i64| {
        let audiences = [audience.to_owned()];
        read_claims(claims, issuer, &audiences, Timestamp::from_seconds(at)).unwrap_err()
    };
    let own = "https://kubernetes.default.svc";
    let mut forged = claims.clone();
    forged["sub"] = json!("system:serviceaccount:kube-system:admin");
    let answers = [
        read(&claims, own, own, 4600),
        read(&claims, own, own, 999),
        read(&claims, "https://other", own, 1000),
        read(&claims, own, "x", 1000),
        read(&forged, own, own, 1000),
        read(&json!({}), "", own, 1000),
    ];
    expect![[r#"
        service account token has expired
        service account token is not valid yet
        invalid bearer token
        token audiences ["https://kubernetes.default.svc"] is invalid for the target audiences ["x"]
        sub claim does not match the ServiceAccount claims
        service account token has no expiration"#]]
    .assert_eq(&answers.join("\n"));
}

#[test]
fn only_valid_names_are_accounts() {
    assert_eq!(
        split_username("system:serviceaccount:a:b.c"),
        Some(("a", "b.c"))
    );
    for other in [
        "bob",
        "system:serviceaccount:a",
        "system:serviceaccount:A:b",
        "system:serviceaccount:a:b:c",
    ] {
        assert_eq!(split_username(other), None, "{other}");
    }
}
