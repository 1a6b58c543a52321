//! Tests of the decoder with requests of kubectl 1.36 and the responses of Kubernetes.

use super::*;
use crate::builtin;

fn recorded() -> Vec<(Vec<u8>, Value)> {
    let read = |line: &str| {
        let mut pair: Value = serde_json::from_str(line).unwrap();
        let body = STANDARD.decode(pair["body"].as_str().unwrap()).unwrap();
        (body, pair["answer"].take())
    };
    include_str!("bodies.json").lines().map(read).collect()
}

/// Returns an object without the fields that only a server sets.
fn without_server_side(mut object: Value) -> Value {
    for field in ["uid", "creationTimestamp", "generation"] {
        object["metadata"].as_object_mut().unwrap().remove(field);
    }
    if object["kind"] == "Service" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            object["spec"].as_object_mut().unwrap().remove(field);
        }
        if let Value::Array(ports) = &mut object["spec"]["ports"] {
            ports[0].as_object_mut().unwrap().remove("nodePort");
        }
    }
    if object["kind"].as_str().unwrap().starts_with("SelfSubject")
        || object["kind"] == "TokenRequest"
    {
        object.as_object_mut().unwrap().remove("status");
    }
    object
}

#[test]
fn objects_of_kubectl_are_stored_as_on_the_real_server() {
    for (body, answer) in recorded() {
        let mut object = decode(&body).unwrap();
        let kind = answer["kind"].as_str().unwrap();
        let api_version = answer["apiVersion"].as_str().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        for field in ["uid", "namespace"] {
            object["metadata"][field] = answer["metadata"][field].clone();
        }
        builtin::defaults(group, version, kind, &mut object);
        builtin::prepare_for_create(group, version, kind, &mut object, "");
        if kind == "SelfSubjectRulesReview" {
            // The response of the real server has an empty spec.
            assert_eq!(object["spec"]["namespace"], "default");
            continue;
        }
        if kind == "TokenRequest" {
            assert_eq!(object["spec"]["expirationSeconds"], 3600);
            continue;
        }
        assert_eq!(without_server_side(object), without_server_side(answer));
    }
}

#[test]
fn a_body_of_kubectl_is_encoded_to_the_same_bytes() {
    for (body, _) in recorded() {
        let object = decode(&body).unwrap();
        assert!(encode(&object) == Some(body), "{object}");
    }
}

/// Returns an object of each kind in both forms, as Go writes them, and whether all fields are set.
fn of_go() -> Vec<(Vec<u8>, Value, bool)> {
    let mut text = String::new();
    let mut file = flate2::read::GzDecoder::new(&include_bytes!("objects.json.gz")[..]);
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    let read = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let body = STANDARD.decode(line["body"].as_str().unwrap()).unwrap();
        (body, line["object"].take(), line["full"] == true)
    };
    text.lines().map(read).collect()
}

fn canonical(mut object: Value) -> Value {
    let text = |field: &str| object[field].as_str().unwrap().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = crate::resource::split_api_version(&api_version);
    builtin::canonical(group, version, &kind, &mut object);
    object
}

#[test]
fn every_kind_is_encoded_to_the_bytes_of_go() {
    for (body, object, _) in of_go() {
        assert!(encode(&object) == Some(body), "{object}");
    }
}

#[test]
fn every_kind_is_decoded_to_the_json_of_go() {
    for (body, object, is_full) in of_go() {
        let decoded = decode(&body).unwrap();
        assert_eq!(encode(&decoded), Some(body));
        if is_full {
            // Zero structs that Go omits are in the body.
            assert_eq!(canonical(decoded), canonical(object));
        }
    }
}

#[test]
fn a_cut_body_is_refused_and_never_panics() {
    for (body, _) in recorded() {
        for end in 0..body.len() {
            if let Err(error) = decode(&body[..end]) {
                assert!(matches!(error.code, 400 | 415), "{error}");
            }
        }
    }
}

#[test]
fn invalid_protobuf_and_unknown_kinds_are_refused() {
    assert_eq!(decode(b"{}").unwrap_err().code, 400);
    let meta = b"\x0a\x05ex/v1\x12\x06Widget";
    let mut body = MAGIC.to_vec();
    body.extend([0x0a, u8::try_from(meta.len()).unwrap()]);
    body.extend(meta);
    assert_eq!(decode(&body).unwrap_err().code, 415);
}

#[test]
fn times_numbers_and_lists_are_read() {
    let mut spec = b"\x0a\x01a\x10\x0f".to_vec();
    // renewTime: 1 s and 500 µs after the epoch.
    spec.extend(b"\x22\x06\x08\x01\x10\xa0\xc2\x1e");
    let found = fields::types()
        .of_kind("coordination.k8s.io/v1", "Lease")
        .unwrap();
    let mut raw = vec![0x12, u8::try_from(spec.len()).unwrap()];
    raw.extend(spec);
    let lease = Value::Object(message(found, &raw, 0).unwrap());
    let spec = json!({
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "renewTime": "1970-01-01T00:00:01.000500Z",
    });
    assert_eq!(lease["spec"], spec);
}
