# The operator with this repository's roles. Two stages: the second holds one static binary, the
# roles and watches.yaml, and nothing else - no shell, no libc, no root.
#
#   docker build -t rhai-operator:0.1.0 .
#
# Your own operator needs the last stage only, with your roles/ and watches.yaml.

FROM docker.io/library/rust:1.95-alpine AS build
# For the C in the TLS library and in the allocator. On Alpine a binary is static by default.
RUN apk add --no-cache musl-dev make
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY src src
# Cargo wants to see every target of the manifest.
COPY tests tests
COPY benches benches
RUN cargo build --profile dist --no-default-features --locked --bin rhai-operator \
 && cp target/dist/rhai-operator /rhai-operator

FROM scratch
COPY --from=build /rhai-operator /rhai-operator
WORKDIR /operator
COPY watches.yaml watches.yaml
COPY roles roles
# The number of `nonroot` in distroless images; a name would need /etc/passwd.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/rhai-operator"]
CMD ["run"]
