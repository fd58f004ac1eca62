# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
# The Python of this image, copies instead of links, and bytecode: the final root may be read-only.
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PROJECT_ENVIRONMENT=/opt/osm-gitops
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --extra validate --no-install-project
COPY README.md LICENSE ./
COPY osm_gitops osm_gitops
COPY osps osps
COPY overlays/air-gapped overlays/air-gapped
COPY overlays/proxy overlays/proxy
RUN uv sync --frozen --no-dev --extra validate --no-editable

FROM python:3.13-slim
# A mounted repo belongs to a user of the host. git refuses to work in it unless told that it may:
# this container has no other users from whom that would protect.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 65532 --create-home osm-gitops \
 && git config --system --add safe.directory '*'
COPY --from=build /opt/osm-gitops /opt/osm-gitops
# Nothing is written but below the mounted repo and /tmp.
ENV PATH=/opt/osm-gitops/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /repo
ENTRYPOINT ["osm-gitops"]
