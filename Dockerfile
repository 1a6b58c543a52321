# The operator with this repository's roles. The image contains one static binary, the roles and
# watches.yaml: no shell, no libc, no root.
#
#   docker build -t rhai-operator:0.1.0 .
#
# The image of your own operator needs the last stage only, with your watches.yaml and roles/.
# `rhai-operator init` writes such a Dockerfile.

FROM docker.io/library/rust:1.95-alpine AS build
# A C compiler for the TLS library and the allocator. On Alpine, binaries are static by default.
RUN apk add --no-cache musl-dev make
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY src src
# Cargo requires a file for each target of the manifest.
COPY tests tests
COPY benches benches
RUN cargo build --profile dist --no-default-features --locked --bin rhai-operator \
 && cp target/dist/rhai-operator /rhai-operator

# The base image of all operators: docker build --target base -t rhai-operator-base:0.1.0 .
FROM scratch AS base
COPY --from=build /rhai-operator /rhai-operator
WORKDIR /operator
# The uid of `nonroot` in distroless images. A user name would require /etc/passwd.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/rhai-operator"]
CMD ["run"]

FROM base
COPY watches.yaml watches.yaml
COPY roles roles
