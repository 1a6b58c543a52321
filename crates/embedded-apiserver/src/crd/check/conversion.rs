//! Checks the conversion of a definition. The server accepts a webhook and does not call it.

use serde_json::Value;

use super::enumeration::check_enum;
use crate::crd::dns;
use crate::crd::structural::list;
use crate::error::FieldError;

const PATH: &str = "spec.conversion";

pub(super) fn check(conversion: &Value, errors: &mut Vec<FieldError>) {
    if !conversion.is_object() {
        return;
    }
    let strategy = format!("{PATH}.strategy");
    check_enum(
        &conversion["strategy"],
        &strategy,
        &["None", "Webhook"],
        errors,
    );
    let webhook = &conversion["webhook"];
    let client = &webhook["clientConfig"];
    if conversion["strategy"] == "Webhook" {
        client_config(client, errors);
        review_versions(webhook, errors);
        return;
    }
    let why = "should not be set when strategy is not set to Webhook";
    if client.is_object() {
        errors.push(FieldError::forbidden(
            format!("{PATH}.webhookClientConfig"),
            why,
        ));
    }
    if list(webhook, "conversionReviewVersions").next().is_some() {
        errors.push(FieldError::forbidden(
            format!("{PATH}.conversionReviewVersions"),
            why,
        ));
    }
}

fn client_config(client: &Value, errors: &mut Vec<FieldError>) {
    let path = format!("{PATH}.webhookClientConfig");
    if !client.is_object() {
        let why = "required when strategy is set to Webhook";
        errors.push(FieldError::required(path, why));
        return;
    }
    match (&client["url"], &client["service"]) {
        (Value::String(url), Value::Null) => check_url(url, &format!("{path}.url"), errors),
        (Value::Null, service @ Value::Object(_)) => {
            for key in ["name", "namespace"] {
                if service[key].as_str().unwrap_or_default().is_empty() {
                    let path = format!("{path}.service.{key}");
                    errors.push(FieldError::required(
                        path,
                        format!("service {key} is required"),
                    ));
                }
            }
        }
        _ => errors.push(FieldError::required(
            path,
            "exactly one of url or service is required",
        )),
    }
}

fn check_url(text: &str, path: &str, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match url::Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            let why = format!("url must be a valid URL: {why}{FORM}");
            errors.push(FieldError::required(path, why));
            return;
        }
    };
    let mut refuse = |value: &str, why: String| {
        errors.push(FieldError::invalid(path, value, why));
    };
    if url.scheme() != "https" {
        refuse(
            url.scheme(),
            format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }
    if !url.has_host() {
        refuse("", format!("host must be specified{FORM}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        refuse(
            url.username(),
            "user information is not permitted in the URL".to_owned(),
        );
    }
    if let Some(fragment) = url.fragment().filter(|it| !it.is_empty()) {
        refuse(
            fragment,
            "fragments are not permitted in the URL".to_owned(),
        );
    }
    if let Some(query) = url.query().filter(|it| !it.is_empty()) {
        refuse(
            query,
            "query parameters are not permitted in the URL".to_owned(),
        );
    }
}

fn review_versions(webhook: &Value, errors: &mut Vec<FieldError>) {
    let path = format!("{PATH}.conversionReviewVersions");
    let versions: Vec<&str> = list(webhook, "conversionReviewVersions")
        .filter_map(Value::as_str)
        .collect();
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let why = if versions[..index].contains(version) {
            Some("duplicate version".to_owned())
        } else {
            dns::label_1035(version)
        };
        errors
            .extend(why.map(|why| FieldError::invalid(format!("{path}[{index}]"), *version, why)));
    }
    if !versions
        .iter()
        .any(|version| matches!(*version, "v1" | "v1beta1"))
    {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, versions, why));
    }
}
