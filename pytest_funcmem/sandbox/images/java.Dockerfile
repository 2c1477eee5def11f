# What Java code is compiled and run in. The base is a Debian, or an image derived from one.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
# The packages' scripts link manual pages even where a slim image has no directory for them.
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jdk-headless libasm-java python3 \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /usr/lib/jvm/*/jmods
COPY describe.py java/ /opt/funcmem/
# Compilers and harness run once while their classes are noted, so that later starts map them instead of loading
# them. The notes serve the very same class path only, hence its full name.
RUN cd /opt/funcmem \
    && flags="-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit" \
    && javac $(for flag in ${flags}=javac.jsa; do echo "-J$flag"; done) \
        -proc:none -d classes CompilerService.java \
    && jar cf compiler.jar -C classes . \
    && rm -r classes \
    && java ${flags}=compiler.jsa -cp "$PWD/compiler.jar" funcmem.CompilerService --rehearse \
    && mkdir classes && cd classes && jar xf /usr/share/java/asm.jar && jar xf /usr/share/java/asm-tree.jar \
    && rm -rf META-INF module-info.class && cd .. \
    && sources=$(ls *.java | grep -v CompilerService) \
    && javac -encoding UTF-8 -nowarn -proc:none -XDstringConcat=inline -cp classes -d classes \
        $(for room in api code tree util comp; do \
            echo "--add-exports=jdk.compiler/com.sun.tools.javac.$room=ALL-UNNAMED"; done) \
        --add-exports=java.management/sun.management=ALL-UNNAMED $sources \
    && jar cfm harness.jar harness.manifest -C classes . \
    && rm -r classes \
    # It empties the directory that it works in.
    && mkdir rehearsal && cd rehearsal \
    && java ${flags}=../harness.jsa $(cat ../harness.flags) -jar /opt/funcmem/harness.jar rehearse \
    && java ${flags}=../workshop.jsa -jar /opt/funcmem/harness.jar rehearse \
    && cd .. && rm -r rehearsal \
    && python3 describe.py "jdk=java --version" "javac=javac --version" "python=python3 --version" \
    # Nothing in here is meant to raise anybody's privileges.
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
