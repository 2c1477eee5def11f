# What C code is compiled and run in. The base is a Debian, or an image derived from one.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
COPY describe.py /opt/funcmem/
# Headers of libraries that much code includes: with them its types are real. Only the headers are of use,
# since programs are linked with libc and libm alone.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev python3 tcc \
        libbz2-dev libncurses-dev libreadline-dev libssl-dev libx11-dev zlib1g-dev \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* \
    && python3 /opt/funcmem/describe.py \
        "gcc=gcc --version" "tcc=tcc -v" "binutils=ld --version" "libc=ldd --version" \
        "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# The native half of the C harness, with a digest of its sources.
COPY c/ /opt/funcmem/c/
RUN cd /opt/funcmem/c \
    && gcc -O1 -w -fno-builtin -fPIC -shared -Wl,-soname,libfmc.so -o libfmc.so $(ls *.c | grep -v start.c) -lm \
    && gcc -O1 -w -fno-builtin -o fmrun start.c ./libfmc.so -Wl,-rpath,'$ORIGIN' \
    && LC_ALL=C ls *.c *.h | xargs cat | sha256sum > digest
