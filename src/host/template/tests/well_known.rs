//! Templates of the shapes that well-known charts and Ansible roles have render to the same objects as
//! their plain text does.

use minijinja::value::Serde;
use serde_json::{Value as Json, json};

use super::*;
use crate::model::yaml;

const FIXTURES: &[&str] = &[
    // A Deployment as charts have it.
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ name }}\n  labels:\n    {{ labels | toYaml | nindent(4) }}\nspec:\n  replicas: {{ replicas }}\n  template:\n    spec:\n      containers:\n        - name: {{ name }}\n          image: \"{{ image.repository }}:{{ image.tag }}\"\n          imagePullPolicy: {{ image.pullPolicy }}\n          resources:\n            {{ resources | toYaml | indent(12) }}\n",
    // A ServiceAccount with optional parts.
    "kind: ServiceAccount\nmetadata:\n  name: {{ name }}-sa\n{% if annotations %}\n  annotations:\n    {{ annotations | to_nice_yaml | indent(4) }}\n{% endif %}\nautomountServiceAccountToken: {{ enabled }}\n",
    // A ConfigMap with a file in a block scalar.
    "kind: ConfigMap\ndata:\n  nginx.conf: |\n    {{ config | indent(4) }}\n  other: |-\n    {{ config | indent(4) }}\n",
    "kind: ConfigMap\ndata:\n  nginx.conf: |\n{{ config | indent(4, true) }}\n  last: x\n",
    "kind: ConfigMap\ndata:\n  nginx.conf: |{{ config | nindent(4) }}\n  last: x\n",
    "kind: ConfigMap\ndata:\n  nginx.conf: |\n    http {\n      {{ config | indent(6) }}\n    }\n",
    "kind: ConfigMap\ndata:\n  nginx.conf: |2\n      http {\n        {{ config | indent(8) }}\n      }\n",
    "kind: ConfigMap\ndata:\n  text: >\n    {{ config | indent(4) }}\n    end\n",
    "kind: ConfigMap\ndata:\n{% for file in files %}\n  {{ file.name }}: |\n    {{ file.text | indent(4) }}\n{% endfor %}\n",
    "kind: ConfigMap\ndata:\n  a.properties: |\n{% for key, value in labels.items() %}\n    {{ key }}={{ value }}\n{% endfor %}\n    end=1\n",
    "kind: ConfigMap\ndata:\n  values.yaml: |\n    {{ resources | to_yaml | indent(4) }}\n  values.json: '{{ resources | to_json }}'\n  pretty.json: |\n    {{ resources | to_nice_json | indent(4) }}\n",
    // Certificates.
    "kind: Secret\nstringData:\n  tls.crt: |\n    {{ certificate | indent(4) }}\n  ca.crt: |\n    {{ certificate | trim | indent(width=4) }}\ndata:\n  tls.key: {{ certificate | b64encode }}\n  user: \"{{ name | b64encode }}\"\n",
    "kind: APIService\nspec:\n  caBundle: {{ certificate | b64encode | quote }}\n  insecureSkipTLSVerify: {{ not enabled }}\n",
    // Lists of variables, ports, volumes, hosts.
    "env:\n{% for item in env %}\n  - name: {{ item.name }}\n    value: \"{{ item.value }}\"\n{% endfor %}\n  - name: POD\n    valueFrom: {fieldRef: {fieldPath: metadata.name}}\n",
    "env:\n{% for item in env -%}\n- name: {{ item.name | upper }}\n  value: {{ item.value | quote }}\n{% endfor %}\n",
    "env: {{ env | to_json }}\n",
    "env: {{ env }}\nports: {{ ports }}\n",
    "spec:\n  ports:\n{% for port in ports %}\n    - port: {{ port }}\n      targetPort: {{ port }}\n      name: {{ 'https' if port == 443 else 'http' }}-{{ loop.index }}\n{% endfor %}\n",
    "args: [\"--port={{ ports[0] }}\", '--name={{ name }}', --level={{ level | default('info') }}]\n",
    "command:\n  - sh\n  - -c\n  - exec {{ name }} --verbose={{ enabled }} \"$@\"\n",
    "rules:\n{% for host in hosts %}\n  - host: {{ host | quote }}\n    http:\n      paths:\n        - path: /{{ name }}(/|$)(.*)\n{% endfor %}\ntls:\n  - hosts: [{% for host in hosts %}{{ host }}{{ ', ' | safe if not loop.last }}{% endfor %}]\n",
    // Conditions and defaults.
    "kind: Service\nspec:\n  type: {{ service_type | default('ClusterIP') }}\n{% if enabled %}\n  sessionAffinity: ClientIP\n{% elif name %}\n  sessionAffinity: None\n{% endif %}\n  clusterIP: {{ cluster_ip | default('None') }}\n",
    "spec:\n  storageClassName: {{ storage_class | default('') }}\n  accessModes:\n    - {{ mode | default('ReadWriteOnce') }}\n  resources: {requests: {storage: {{ size | default('8Gi') }}}}\n",
    // Quoted annotations, and names put together.
    "metadata:\n  name: {{ name }}-{{ replicas }}\n  annotations:\n    checksum/config: {{ config | hash('sha256') }}\n    prometheus.io/scrape: \"{{ enabled | lower }}\"\n    prometheus.io/port: '{{ ports[0] }}'\n    \"{{ name }}.example.com/url\": https://{{ hosts[0] }}/{{ name }}?a=b\n",
    // Helpers: macros and variables.
    "{% macro labels_of(name) %}\napp.kubernetes.io/name: {{ name }}\napp.kubernetes.io/instance: \"{{ name }}-1\"\n{% endmacro %}\nmetadata:\n  labels:\n    {{ labels_of(name) | indent(4) }}\nspec:\n  selector:\n    matchLabels:{{ labels_of(name) | nindent(6) }}\n",
    "{% set fullname %}{{ name }}-{{ image.tag }}{% endset %}\nmetadata:\n  name: {{ fullname }}\n  labels: {full: \"{{ fullname | replace('.', '-') | lower }}\"}\n",
    "{% macro container(name) %}\n- name: {{ name }}\n  env:\n    {{ caller() | indent(4) }}\n{% endmacro %}\ncontainers:\n{% call container(name) %}\n- name: A\n  value: \"{{ name }}\"\n{% endcall %}\n",
    "{% set merged = labels | combine({'extra': name}) %}\nmetadata:\n  labels: {{ merged | to_json }}\n  keys: {{ merged | dict2items | map(attribute='key') | list | to_json }}\n",
    // Several documents, anchors, merges.
    "---\nkind: A\nmetadata: {name: {{ name }}}\n---\n# a comment on {{ name }}\nkind: B\nmetadata:\n  labels: &l\n    app: {{ name }}\nspec:\n  matchLabels: *l\n  all:\n    <<: *l\n    more: {{ replicas }}\n---\n{% if not enabled %}\nkind: C\n{% endif %}\n",
    "spec:\n  affinity:\n    {{ labels | toYaml | indent(4) }}\n  tolerations:\n    - {{ {'key': name, 'operator': 'Exists'} | to_json }}\n  nodeSelector: {{ labels | to_json }}\n  extra:\n    <<: {{ labels | to_json }}\n    own: 1\n",
    "{% for n in range(replicas) %}\n---\nkind: Pod\nmetadata:\n  name: {{ name }}-{{ n }}\n  labels: {index: \"{{ n }}\"}\nspec:\n  hostname: {{ '%s-%d' | format(name, n) }}\n{% endfor %}\n",
];

fn values() -> [Json; 2] {
    let harmless = json!({
        "name": "web", "replicas": 3, "enabled": true, "config": "listen 80;", "certificate": "MIIB",
        "image": {"repository": "docker.io/library/nginx", "tag": "1.29-alpine", "pullPolicy": "IfNotPresent"},
        "labels": {"app": "web", "tier": "front"},
        "annotations": {},
        "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": 1}},
        "env": [{"name": "a", "value": "b"}, {"name": "C", "value": "2"}],
        "ports": [80, 443], "hosts": ["example.com", "www.example.com"],
        "files": [{"name": "a.txt", "text": "hello"}],
    });
    let mut usual = harmless.clone();
    let config = "server {\n  listen 80;\n\n  # text: \"quoted\" and 'quoted'\n  location / { return 200; }\n}\n";
    let over = json!({
        "config": config,
        "certificate": "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUY2E=\nq83vEjRWeJA=\n-----END CERTIFICATE-----\n",
        "image": {"repository": "registry.example.com:5000/team/app_x", "tag": "v1.0@sha256:0123abcd", "pullPolicy": "Always"},
        "labels": {"app.kubernetes.io/name": "web", "note": "it's: \"so\" # here", "yes": "no", "n": "1"},
        "annotations": {"nginx.org/snippet": "a;\n  b;\nc;\n", "empty": ""},
        "env": [{"name": "URL", "value": "http://user:p-w@host:80/?a=b&c=d"}, {"name": "FLAGS", "value": "-Xmx1g -Dx=y"}],
        "hosts": ["a.example.com", "b-2.example.org"],
        "files": [{"name": "run.sh", "text": "#!/bin/sh\nset -e\n\nexec \"$@\"\n"}, {"name": "a_b", "text": "x: |\n  y\n"}],
    });
    for (key, value) in over.as_object().unwrap() {
        usual[key] = value.clone();
    }
    [harmless, usual]
}

#[test]
fn they_render_as_their_plain_text() {
    assert!(FIXTURES.len() >= 25);
    for template in FIXTURES {
        let mut environment = Environment::new();
        configure(&mut environment);
        let calls = rewrite(template, environment.syntax()).unwrap();
        environment.add_template_owned("t.yaml", calls).unwrap();
        for values in values() {
            let scope = Value::from(Serde(values));
            let plain = render(&environment, "t.yaml", &scope);
            let plain = plain.unwrap_or_else(|error| panic!("{template}{error}"));
            let expected = yaml::parse_all(&plain);
            let expected = expected.unwrap_or_else(|error| panic!("{template}{error}: {plain}"));
            let found = render_objects(&environment, "t.yaml", &scope);
            let found = found.unwrap_or_else(|error| panic!("{template}{error}"));
            assert_eq!(found, expected, "{template}");
        }
    }
}
