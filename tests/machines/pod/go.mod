module osm-gitops/tests/machines/pod

go 1.26.0
