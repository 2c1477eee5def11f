# What Java code is compiled and run in. The base is a Debian, or an image derived from one.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
# The packages' scripts link manual pages even where a slim image has no directory for them.
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jdk-headless python3 \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /usr/lib/jvm/*/jmods
COPY describe.py java/ /opt/funcmem/
# Both compilers run once while their classes are noted, so that later starts map them instead of loading them.
# The notes serve the very same class path only, hence its full name.
RUN cd /opt/funcmem \
    && flags="-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit" \
    && javac $(for flag in ${flags}=javac.jsa; do echo "-J$flag"; done) \
        -proc:none -d classes CompilerService.java \
    && jar cf compiler.jar -C classes . \
    && rm -r classes \
    && java ${flags}=compiler.jsa -cp "$PWD/compiler.jar" funcmem.CompilerService --rehearse \
    && python3 describe.py "jdk=java --version" "javac=javac --version" "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
