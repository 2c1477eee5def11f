# What Rust code is compiled and run in. The base is a Debian, or an image derived from one.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
COPY describe.py rust/crates.py rust/crates.txt /opt/funcmem/
# The crates are compiled once, from Debian's sources. Cargo and the sources then have no use any more.
RUN cd /opt/funcmem \
    && sources="$(sed 's/_/-/g; s/.*/librust-&-dev/' crates.txt) librust-bstr+default-dev librust-regex+default-dev" \
    && apt-get update \
    && apt-get install -y --no-install-recommends rustc-web libc6-dev python3 cargo-web $sources \
    && python3 crates.py compile \
    && apt-get purge -y --auto-remove cargo-web $sources \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /root/.cargo \
    && python3 describe.py "rustc=rustc --version" "crates=python3 crates.py count" \
        "binutils=ld --version" "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# The runtime of harnesses comes last: a change to it compiles no crate again.
COPY rust/*.rs /opt/funcmem/runtime/
RUN cd /opt/funcmem/runtime \
    && RUSTC_BOOTSTRAP=1 rustc --edition=2021 --crate-name=funcmem --crate-type=rlib -Awarnings \
        -Copt-level=1 -Ccodegen-units=1 -Cdebuginfo=0 lib.rs
