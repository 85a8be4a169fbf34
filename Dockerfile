# The relay as an image of one static binary, run as a numeric non-root user; a read-only root works.
# The base images are arguments, so that they can come from a mirror or be pinned by digest.
ARG BUILD_IMAGE=golang:1.26
ARG RUNTIME_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=development
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /relay ./cmd/relay

FROM ${RUNTIME_IMAGE}
# Slack is reached by TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /relay /relay
ARG VERSION=development
LABEL org.opencontainers.image.title="slackrelay" \
      org.opencontainers.image.description="Throttled notifications for Slack, with limits that all replicas share" \
      org.opencontainers.image.version="${VERSION}"
ENV RELAY_LISTEN=:8080 RELAY_OPS_LISTEN=:9090
EXPOSE 8080 9090
USER 65532:65532
ENTRYPOINT ["/relay"]
CMD ["serve"]
