# What Go code is compiled and run in. The base is a Debian, or an image derived from one; the context holds
# the tree of a Go distribution as "distribution/go".
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN if ! command -v python3 >/dev/null; then \
        apt-get update \
        && apt-get install -y --no-install-recommends python3 \
        && apt-get clean \
        && rm -rf /var/lib/apt/lists/*; \
    fi
COPY distribution/go /usr/local/go
COPY describe.py go/tame_standard_library.py go/std_*.go /opt/funcmem/
# The standard library is changed so that clocks, random numbers and the order of maps can be controlled, and
# compiled once. Code under test is compiled and linked against it, without "go build".
RUN export GOROOT=/usr/local/go GOCACHE=/opt/funcmem/cache CGO_ENABLED=0 GOTOOLCHAIN=local GOTELEMETRY=off HOME=/tmp \
    && cd /opt/funcmem \
    && python3 tame_standard_library.py /usr/local/go/src \
    && /usr/local/go/bin/go list -export \
        -f '{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}' std > importcfg \
    && test -s importcfg \
    && ln -s "$(/usr/local/go/bin/go env GOTOOLDIR)" tools \
    && chmod -R a+rX cache \
    && rm -rf /tmp/go /tmp/.config \
    && python3 describe.py "go=/usr/local/go/bin/go version" "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# The runtime that harnesses link against, and the tool that writes and fills them.
COPY go /opt/funcmem/source
RUN export GOROOT=/usr/local/go GOTELEMETRY=off HOME=/tmp \
    && cd /opt/funcmem \
    && tools/compile -p funcmem/rt -complete -pack -importcfg importcfg -o rt.a source/rt_*.go \
    && echo "packagefile funcmem/rt=/opt/funcmem/rt.a" >> importcfg \
    && tools/compile -p main -complete -pack -importcfg importcfg -o /tmp/tool.a source/tool_*.go \
    && tools/link -s -w -importcfg importcfg -o funcmem-go /tmp/tool.a \
    && rm /tmp/tool.a
