# Dependabot keeps the digests of the base current. `make image BASE=…` builds on another one, such as that of a mirror,
# or one with certificates of your own.

# What the program imports, in a virtual environment that has no installer. Copies instead of links: it goes elsewhere.
FROM docker.io/library/python:3.13-slim@sha256:bf44cdfcb76cd3b41e879bc058fc37ec5872002ccfde7fcb765e218cde0cd79c AS dependencies
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_NO_CACHE=1 UV_PROJECT_ENVIRONMENT=/opt/osm-gitops
RUN apt-get update \
 && apt-get install --yes --no-install-recommends binutils \
 && pip install --no-cache-dir uv==0.13.8
WORKDIR /src
COPY pyproject.toml uv.lock ./
# The kubernetes client comes twice. Its second half, for asyncio, and what only that imports are left out: osm-gitops
# imports neither. Some wheels bring symbols for debuggers, others their tests. Of the lexers, rich wants those for
# Python and plain text. Bytecode now, as the final root may be read-only, but not of models and calls, which are half
# of all and hardly ever loaded.
RUN uv sync --frozen --no-dev --extra validate --no-install-project \
    --no-install-package aiohappyeyeballs --no-install-package aiohttp --no-install-package aiohttp-retry \
    --no-install-package aiosignal --no-install-package attrs --no-install-package frozenlist \
    --no-install-package multidict --no-install-package propcache --no-install-package yarl \
 && cd /opt/osm-gitops/lib/python3.*/site-packages \
 && rm -r kubernetes/aio */test */tests \
 && find pygments/lexers -name '*.py' ! -name __init__.py ! -name _mapping.py ! -name python.py ! -name special.py -delete \
 && find /opt/osm-gitops -name '*.so' -exec strip --strip-unneeded '{}' + \
 && python -m compileall -q -x '/(kubernetes/client/(api|models)|pygments/styles)/' /opt/osm-gitops/lib

FROM dependencies AS program
COPY . .
RUN uv build --quiet --wheel --out-dir /wheel \
 && pip --python /opt/osm-gitops/bin/python install --no-cache-dir --no-index --no-deps --prefix /program /wheel/*.whl

# git depends on Perl for commands that osm-gitops does not use (request-pull, filter-branch, instaweb). This package is
# installed in Perl's place: apt and scanners see what is there, and `apt-get install perl` still works on top.
FROM docker.io/library/python:3.13-slim@sha256:bf44cdfcb76cd3b41e879bc058fc37ec5872002ccfde7fcb765e218cde0cd79c AS without-perl
RUN mkdir --parents /package/DEBIAN \
 && printf '%s\n' 'Package: osm-gitops-without-perl' 'Version: 1' 'Architecture: all' \
    'Maintainer: osm-gitops <osm-gitops@example.com>' 'Provides: perl, liberror-perl' \
    'Description: takes the place of Perl, which osm-gitops needs in no command of git' >/package/DEBIAN/control \
 && dpkg-deb --build /package /package.deb

FROM docker.io/library/python:3.13-slim@sha256:bf44cdfcb76cd3b41e879bc058fc37ec5872002ccfde7fcb765e218cde0cd79c
# Of git all that a client needs: programs for servers, mail and WebDAV are further copies of most of git each, and so
# would be git-core/git. A mounted repo belongs to a user of the host. git refuses to work in it unless told that it may:
# this container has no other users from whom that would protect.
COPY --from=without-perl /package.deb /tmp/without-perl.deb
RUN for program in bin/git-shell bin/scalar lib/git-core/git lib/git-core/git-daemon lib/git-core/git-http-backend \
    lib/git-core/git-http-push lib/git-core/git-imap-send lib/git-core/git-shell lib/git-core/scalar; do \
    echo "path-exclude=/usr/$program"; done >/etc/dpkg/dpkg.cfg.d/osm-gitops \
 && apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client /tmp/without-perl.deb \
 && rm -rf /tmp/without-perl.deb /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/* \
 && ln --symbolic ../../bin/git /usr/lib/git-core/git \
 && useradd --no-log-init --uid 65532 --create-home osm-gitops \
 && git config --system --add safe.directory '*' \
 && mkdir /repo
COPY --from=dependencies /opt/osm-gitops /opt/osm-gitops
COPY --from=program /program /opt/osm-gitops
# Nothing is written but below the mounted repo and /tmp.
ENV PATH=/opt/osm-gitops/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The base has no bytecode of Python's own library: a first run writes that of what every run loads.
RUN env --unset=PYTHONDONTWRITEBYTECODE osm-gitops osp list >/dev/null
LABEL org.opencontainers.image.title="osm-gitops" \
      org.opencontainers.image.description="The boot configuration of Kubernetes worker nodes, kept in git" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
WORKDIR /repo
ENTRYPOINT ["osm-gitops"]
