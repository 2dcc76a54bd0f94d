//! One request, from the door to its verb.

use crate::registry::ResourceType;
use crate::reply::{Reply, Response};
use crate::request::{Method, Request};
use crate::route::{self, Target};
use crate::state::State;
use crate::{collection, create, delete, discovery, patch, read, review, subresource, update};
use access::{Attributes, Decision};
use admission::webhook::{Answers, Call as WebhookCall};
use model::{ApiError, GroupVersionResource, Reason, Timestamp, User};
use std::sync::Arc;
use store::Change;
use wire::{Endpoint, Media, Query};

/// What a request's answer depends on besides the request and the state.
pub struct Context<'a> {
    /// The time.
    pub now: Timestamp,
    /// Random numbers, for uids, generated names and addresses.
    pub entropy: &'a mut dyn FnMut() -> u64,
    /// What webhooks answered so far.
    pub answers: &'a Answers,
}

/// What a request leads to.
#[derive(Debug)]
pub struct Outcome {
    /// The answer.
    pub reply: Reply,
    /// What must be committed before the answer is sent, in this order.
    pub changes: Vec<Change>,
}

/// How far a request got.
#[derive(Debug)]
pub enum Step {
    /// It is answered.
    Done(Box<Outcome>),
    /// These webhooks must be asked first; then it is handled again with their answers.
    Ask(Vec<WebhookCall>),
}

/// Why a handler stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    Refuse(Box<ApiError>),
    /// Refused by authorization, whose answers browsers must not guess at.
    Deny(Box<ApiError>),
    Ask(Vec<WebhookCall>),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Refuse(Box::new(error))
    }
}

/// What verbs return.
pub(crate) type Handled = Result<Outcome, Stop>;

/// One authorized request for a resource, as verbs see it.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a State,
    pub(crate) request: &'a Request,
    pub(crate) query: &'a Query,
    pub(crate) target: &'a Target,
    pub(crate) resource: Arc<ResourceType>,
    pub(crate) user: &'a User,
    pub(crate) media: Media,
    pub(crate) now: Timestamp,
    pub(crate) answers: &'a Answers,
    pub(crate) warnings: Vec<String>,
}

impl Outcome {
    /// An answer that changes nothing.
    pub(crate) fn reply(reply: Reply) -> Self {
        Self {
            reply,
            changes: Vec::new(),
        }
    }
}

/// Answers one request.
pub fn handle(state: &State, request: &Request, context: &mut Context<'_>) -> Step {
    match serve(state, request, context) {
        Ok(outcome) => Step::Done(Box::new(outcome)),
        Err(Stop::Ask(calls)) => Step::Ask(calls),
        Err(Stop::Deny(error)) => {
            let mut response = Response::error(&error);
            response
                .headers
                .push(("x-content-type-options", "nosniff".into()));
            Step::Done(Box::new(Outcome::reply(Reply::Full(response))))
        }
        Err(Stop::Refuse(error)) => {
            let mut response = Response::error(&error);
            let media = wire::accept_error(request.header("accept"));
            response.body = wire::write(&media, &error.to_status());
            response.content_type = media.content_type().into();
            Step::Done(Box::new(Outcome::reply(Reply::Full(response))))
        }
    }
}

fn serve(state: &State, request: &Request, context: &mut Context<'_>) -> Handled {
    let query = Query::parse(&request.query);
    let target = route::target(&request.path);
    let verb = target
        .as_ref()
        .map_or(request.method.word(), |t| route::verb(request, t, &query));
    let nobody = User::default();
    let selector = model::FieldSelector::parse(query.get("fieldSelector").unwrap_or(""));
    let selector = selector.unwrap_or_default();
    let attributes = attributes(&nobody, verb, target.as_ref(), &request.path, &selector);
    let user = identify(state, request, context.now, attributes)?;
    if request.method == Method::Other {
        return Err(method_not_allowed().into());
    }
    let asked = Attributes {
        user: &user,
        ..attributes
    };
    check(state, &asked).map_err(|error| Stop::Deny(Box::new(error)))?;
    let Some(target) = target else {
        return discovery::serve(state, request, &query)
            .map(Outcome::reply)
            .map_err(Stop::from);
    };
    let Some(resource) = find(state, &target) else {
        return not_served(state, &target);
    };
    let endpoint = match (resource.custom(), verb) {
        (Some(_), _) => Endpoint::Custom,
        (None, "list" | "watch" | "deletecollection") => Endpoint::Collection,
        (None, _) => Endpoint::Resource,
    };
    let mut media = wire::accept(request.header("accept"), endpoint)?;
    media.pretty |= wire::is_pretty(&query, request.header("user-agent").unwrap_or(""));
    let mut call = Call {
        state,
        request,
        query: &query,
        target: &target,
        resource,
        user: &user,
        media,
        now: context.now,
        answers: context.answers,
        warnings: Vec::new(),
    };
    if let Some(warning) = call.resource.custom().and_then(|c| c.deprecation.clone()) {
        call.warnings.push(warning);
    }
    if call.resource.gvk.group.is_empty() {
        let deprecated = match call.resource.gvk.kind.as_str() {
            "ComponentStatus" => Some("v1 ComponentStatus is deprecated in v1.19+"),
            "Endpoints" => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
            }
            _ => None,
        };
        call.warnings.extend(deprecated.map(str::to_owned));
    }
    dispatch(&mut call, verb, context.entropy)
}

fn dispatch(call: &mut Call<'_>, verb: &str, entropy: &mut dyn FnMut() -> u64) -> Handled {
    if review::is_review(&call.resource.gvk) {
        return review::serve(call, verb);
    }
    if !call.target.subresource.is_empty() {
        return subresource::serve(call, verb, entropy);
    }
    // Over all namespaces one can look, but neither create nor delete.
    let everywhere = call.resource.namespaced && call.target.namespace.is_empty();
    if everywhere && !matches!(verb, "list" | "watch") {
        if call.resource.custom().is_some() {
            return Ok(page_not_found());
        }
        return Err(method_not_allowed().into());
    }
    let served = call.resource.verbs.iter().any(|v| v == verb);
    let collection_only =
        call.target.name.is_empty() != matches!(verb, "get" | "update" | "patch" | "delete");
    if !served
        || (verb == "create" && !call.target.name.is_empty())
        || !collection_only && verb != "watch"
    {
        return Err(method_not_allowed().into());
    }
    match verb {
        "get" => read::get(call),
        "list" => collection::list(call),
        "watch" => collection::watch(call),
        "create" => create::create(call, entropy),
        "update" => update::update(call, entropy),
        "patch" => patch::patch(call, entropy),
        "delete" => delete::delete(call),
        "deletecollection" => delete::delete_collection(call),
        _ => Err(method_not_allowed().into()),
    }
}

pub(crate) fn method_not_allowed() -> ApiError {
    let message = "the server does not allow this method on the requested resource";
    let mut error = ApiError::new(405, Some(Reason::MethodNotAllowed), message);
    error.with_details = true;
    error
}

pub(crate) fn no_such_resource() -> ApiError {
    let message = "the server could not find the requested resource";
    let mut error = ApiError::new(404, Some(Reason::NotFound), message);
    error.with_details = true;
    error
}

fn find(state: &State, target: &Target) -> Option<Arc<ResourceType>> {
    let resource = state
        .registry
        .find(&target.group, &target.version, &target.resource)?;
    // A namespaced resource can only be listed or watched over all namespaces.
    let placed = target.namespace.is_empty() || target.resource == "namespaces";
    if placed == resource.namespaced && !(resource.namespaced && target.name.is_empty()) {
        return None;
    }
    Some(resource.clone())
}

fn not_served(state: &State, target: &Target) -> Handled {
    if !is_custom_group(state, &target.group) {
        return Err(no_such_resource().into());
    }
    Ok(page_not_found())
}

fn page_not_found() -> Outcome {
    Outcome::reply(Reply::Full(Response::text(404, "404 page not found\n")))
}

fn is_custom_group(state: &State, group: &str) -> bool {
    let mut of_group = state
        .registry
        .resources()
        .iter()
        .filter(|r| r.gvr.group == group);
    of_group.all(|r| r.custom().is_some())
}

fn identify(
    state: &State,
    request: &Request,
    now: Timestamp,
    attributes: Attributes<'_>,
) -> Result<User, ApiError> {
    let user = authenticate(state, request, now)?;
    let headers = request
        .headers
        .iter()
        .map(|(n, v)| (n.as_ref(), v.as_str()));
    match access::impersonate::wanted(headers)? {
        None => Ok(user),
        Some(wanted) => {
            let asked = Attributes {
                user: &user,
                ..attributes
            };
            access::impersonate::allow(&state.rbac, &asked, &wanted)
        }
    }
}

fn authenticate(state: &State, request: &Request, now: Timestamp) -> Result<User, ApiError> {
    if let Some(token) = request.header("authorization").and_then(access::bearer) {
        if let Some(user) = state.settings.tokens.user(token) {
            return Ok(user.clone());
        }
        return account_of_token(state, token, &[], now)
            .map(|(user, _)| user)
            .map_err(|_| access::unauthorized());
    }
    let certificate = request.credentials.certificate.as_ref();
    let user = certificate
        .and_then(|c| access::certificate_user(&c.common_name, &c.organizations, &c.fingerprint));
    Ok(user.unwrap_or_else(User::anonymous))
}

/// The ServiceAccount a signed token stands for, while it exists, and the audiences that hold.
pub(crate) fn account_of_token(
    state: &State,
    token: &str,
    audiences: &[String],
    now: Timestamp,
) -> Result<(User, Vec<String>), String> {
    let signer = state
        .settings
        .signer
        .as_ref()
        .ok_or("invalid bearer token")?;
    let claims = pki::verify_token(signer, token).map_err(|_| "invalid bearer token")?;
    let issuer = &state.settings.issuer;
    let own = [issuer.clone()];
    let wanted = if audiences.is_empty() {
        &own[..]
    } else {
        audiences
    };
    let found = access::serviceaccount::read_claims(&claims, issuer, wanted, now)?;
    if !state.has_account(&found.namespace, &found.account.name, &found.account.uid) {
        return Err("service account token has been invalidated".into());
    }
    Ok((found.user, found.audiences))
}

fn attributes<'a>(
    user: &'a User,
    verb: &'a str,
    target: Option<&'a Target>,
    path: &'a str,
    selector: &'a model::FieldSelector,
) -> Attributes<'a> {
    let Some(target) = target else {
        return Attributes::path(user, verb, path);
    };
    let mut name = target.name.as_str();
    if name.is_empty() && matches!(verb, "list" | "watch" | "deletecollection") {
        // A list of exactly one name is authorized as access to that name.
        name = selector.required("metadata.name").unwrap_or("");
    }
    Attributes {
        subresource: &target.subresource,
        namespace: &target.namespace,
        name,
        ..Attributes::resource(user, verb, &target.group, &target.version, &target.resource)
    }
}

/// Whether RBAC allows something; the refusal otherwise.
pub(crate) fn check(state: &State, attributes: &Attributes<'_>) -> Result<(), ApiError> {
    match state.rbac.authorize(attributes) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(reason) => Err(access::forbidden(attributes, &reason)),
    }
}

impl Call<'_> {
    /// The resource's name, for errors.
    pub(crate) fn gvr(&self) -> &GroupVersionResource {
        &self.resource.gvr
    }

    /// Whether nothing is to be stored.
    pub(crate) fn dry_run(&self) -> bool {
        self.query.get("dryRun").is_some()
    }

    /// 404 for the object the path names.
    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(self.gvr(), &self.target.name)
    }
}
