# What Python code is run in. The base is any image with python3, or of a Debian from which it can be installed.
ARG BASE
FROM ${BASE}
COPY describe.py /opt/funcmem/
RUN if ! command -v python3 >/dev/null; then \
        apt-get update \
        && apt-get install -y --no-install-recommends python3 \
        && apt-get clean \
        && rm -rf /var/lib/apt/lists/*; \
    fi \
    && python3 /opt/funcmem/describe.py "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
