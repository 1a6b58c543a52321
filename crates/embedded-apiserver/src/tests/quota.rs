//! Quotas count and limit the objects of their namespace.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, ResourceQuota};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, from_value, json};

use super::{client, config_map, server};

async fn used(quotas: &Api<ResourceQuota>) -> Value {
    let quota = quotas.get("q").await.unwrap();
    json!(quota.status.unwrap().used)
}

#[tokio::test]
async fn a_quota_counts_and_limits_objects() {
    let server = server();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let quotas: Api<ResourceQuota> = Api::default_namespaced(client(&server));
    let create = PostParams::default();
    // The namespace already contains the ConfigMap of the certificate.
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "2", "count/secrets": 1}}});
    quotas
        .create(&create, &from_value(quota).unwrap())
        .await
        .unwrap();
    assert_eq!(
        used(&quotas).await,
        json!({"configmaps": "1", "count/secrets": "0"})
    );
    let map: ConfigMap = from_value(config_map("a", "1")).unwrap();
    maps.create(&create, &map).await.unwrap();
    assert_eq!(used(&quotas).await["configmaps"], "2");
    let more: ConfigMap = from_value(config_map("b", "1")).unwrap();
    let refusal = maps.create(&create, &more).await.unwrap_err().to_string();
    let expected = r#"configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"#;
    assert!(refusal.contains(expected), "{refusal}");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(used(&quotas).await["configmaps"], "1");
    maps.create(&create, &more).await.unwrap();
}

#[tokio::test]
async fn a_quota_of_compute_resources_requires_and_limits_them() {
    let server = server();
    let pods: Api<Pod> = Api::default_namespaced(client(&server));
    let quotas: Api<ResourceQuota> = Api::default_namespaced(client(&server));
    let create = PostParams::default();
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "1", "limits.memory": "1Gi"}, "scopes": ["NotTerminating"]}});
    quotas
        .create(&create, &from_value(quota).unwrap())
        .await
        .unwrap();
    let pod = |name: &str, resources: Value| -> Pod {
        let container = json!({"name": "c", "image": "i", "resources": resources});
        from_value(json!({"metadata": {"name": name}, "spec": {"containers": [container]}}))
            .unwrap()
    };
    let refusal = |pod: Pod| {
        let (pods, create) = (pods.clone(), create.clone());
        async move { pods.create(&create, &pod).await.unwrap_err().to_string() }
    };
    let missing = refusal(pod("a", json!({}))).await;
    let expected = "failed quota: q: must specify cpu for: c; limits.memory for: c";
    assert!(missing.contains(expected), "{missing}");
    let fits = json!({"requests": {"cpu": "600m"}, "limits": {"memory": "512Mi"}});
    pods.create(&create, &pod("a", fits.clone())).await.unwrap();
    assert_eq!(
        used(&quotas).await,
        json!({"cpu": "600m", "limits.memory": "512Mi"})
    );
    let exceeded = refusal(pod("b", fits.clone())).await;
    let expected = "exceeded quota: q, requested: cpu=600m, used: cpu=600m, limited: cpu=1";
    assert!(exceeded.contains(expected), "{exceeded}");
    let mut short = pod("c", fits);
    short.spec.as_mut().unwrap().active_deadline_seconds = Some(60);
    pods.create(&create, &short).await.unwrap();
}
