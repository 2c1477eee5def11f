# What Python code is run in. The base is any image with python3, or of a Debian from which it can be installed.
ARG BASE
FROM ${BASE}
RUN if ! command -v python3 >/dev/null; then \
        apt-get update \
        && apt-get install -y --no-install-recommends python3 \
        && rm -rf /var/lib/apt/lists/*; \
    fi \
    && python3 -c 'import sys, ctypes; assert sys.version_info >= (3, 9)' \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
