package sweepergo

import (
	_ "github.com/prometheus/prometheus/promql/parser"
	_ "k8s.io/api/apps/v1"
	_ "k8s.io/api/batch/v1"
	_ "sigs.k8s.io/yaml"
)
