//! Defaults of HorizontalPodAutoscalers.

use serde_json::{Map, Value, json};

use super::{absent, within};

/// The target utilization of an autoscaler without metrics, in percent of the requested CPU.
const CPU_UTILIZATION: i64 = 80;

pub(super) fn spec(map: &mut Map<String, Value>) {
    absent(map, "metrics", || {
        json!([{
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": CPU_UTILIZATION},
            },
        }])
    });
    if let Some(Value::Object(behavior)) = map.get_mut("behavior") {
        let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        if let Some(up) = within(behavior, "scaleUp") {
            absent(up, "stabilizationWindowSeconds", || json!(0));
            rules(up, json!([pods, percent]));
        }
        if let Some(down) = within(behavior, "scaleDown") {
            rules(down, json!([percent]));
        }
    }
}

fn rules(rules: &mut Map<String, Value>, policies: Value) {
    absent(rules, "selectPolicy", || json!("Max"));
    absent(rules, "policies", || policies);
}

pub(super) fn spec_v1(map: &mut Map<String, Value>) {
    absent(map, "targetCPUUtilizationPercentage", || {
        json!(CPU_UTILIZATION)
    });
}
