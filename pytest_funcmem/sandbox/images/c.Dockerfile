# What C code is compiled and run in. The base is a Debian, or an image derived from one.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
COPY describe.py /opt/funcmem/
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev python3 tcc \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* \
    && python3 /opt/funcmem/describe.py \
        "gcc=gcc --version" "tcc=tcc -v" "binutils=ld --version" "libc=ldd --version" \
        "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
