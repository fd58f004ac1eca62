# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN uv sync --frozen --no-dev --no-install-project --no-editable
COPY osm_gitops osm_gitops
RUN uv sync --frozen --no-dev --no-editable

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 65532 --create-home osm-gitops
COPY --from=build /src/.venv /src/.venv
# The root may be read-only: nothing is written but below the mounted repo and /tmp.
ENV PATH=/src/.venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /repo
ENTRYPOINT ["osm-gitops"]
