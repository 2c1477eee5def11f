# What Go code is compiled and run in. The base is a Debian, or an image derived from one; the context holds
# the tree of a Go distribution as "go".
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN if ! command -v python3 >/dev/null; then \
        apt-get update \
        && apt-get install -y --no-install-recommends python3 \
        && apt-get clean \
        && rm -rf /var/lib/apt/lists/*; \
    fi
COPY go /usr/local/go
COPY describe.py /opt/funcmem/
# The standard library is compiled once. Code under test is compiled and linked against it, without "go build".
RUN export GOROOT=/usr/local/go GOCACHE=/opt/funcmem/cache CGO_ENABLED=0 GOTOOLCHAIN=local GOTELEMETRY=off HOME=/tmp \
    && cd /opt/funcmem \
    && /usr/local/go/bin/go list -export \
        -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' std > importcfg \
    && test -s importcfg \
    && ln -s "$(/usr/local/go/bin/go env GOTOOLDIR)" tools \
    && chmod -R a+rX cache \
    && rm -rf /tmp/go /tmp/.config \
    && python3 describe.py "go=/usr/local/go/bin/go version" "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
