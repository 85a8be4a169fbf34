# The relay as an image of one static binary, run as a numeric non-root user; a read-only root works.
# The base images are arguments, so that they can come from a mirror or be pinned: --build-arg BUILD_IMAGE=golang:1.26@sha256:…
ARG BUILD_IMAGE=golang:1.26
ARG RUNTIME_IMAGE=scratch

# The compiler runs on the builder's own platform, and builds for the one that is asked for.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/root/go/pkg/mod,id=relay-modules GOMODCACHE=/root/go/pkg/mod go mod download
COPY . .
ARG VERSION=development
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/root/go/pkg/mod,id=relay-modules --mount=type=cache,target=/root/.cache/go-build,id=relay-build \
    GOMODCACHE=/root/go/pkg/mod GOCACHE=/root/.cache/go-build CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=${VERSION}" -o /relay ./cmd/relay
RUN --mount=type=cache,target=/root/go/pkg/mod,id=relay-modules --mount=type=cache,target=/root/.cache/go-build,id=relay-build \
    GOMODCACHE=/root/go/pkg/mod GOCACHE=/root/.cache/go-build CGO_ENABLED=0 \
    go run ./deploy/sbom -version "${VERSION}" -sbom /sbom.cdx.json -licenses /LICENSES.txt /relay

FROM ${RUNTIME_IMAGE}
# Slack is reached by TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /relay /relay
# What the binary is made of, and its licences.
COPY --from=build /src/LICENSE /LICENSES.txt /sbom.cdx.json /
ARG VERSION=development
# The commit, its time as in RFC 3339, and where the source is published.
ARG REVISION=
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="slackrelay" \
      org.opencontainers.image.description="Throttled notifications for Slack, with limits that all replicas share" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.vendor="The relay's authors" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.url="${SOURCE}" \
      org.opencontainers.image.documentation="${SOURCE}"
ENV RELAY_LISTEN=:8080 RELAY_OPS_LISTEN=:9090
EXPOSE 8080 9090
USER 65532:65532
ENTRYPOINT ["/relay"]
CMD ["serve"]
