# The operator with this repository's roles. The image contains one static binary, the roles and
# watches.yaml: no shell, no libc, no root.
#
#   docker build -t rhai-operator:0.1.0 .
#
# For several processors, with a list of the packages (SBOM) and the origin attached to the image:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --provenance=true --push \
#     -t registry.example.com/rhai-operator:0.1.0 .
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
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="rhai-operator" \
      org.opencontainers.image.description="A Kubernetes operator with roles written in Rhai" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
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
