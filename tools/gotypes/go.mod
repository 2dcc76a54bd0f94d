module gotypes

go 1.26

require (
	k8s.io/api v0.36.4
	k8s.io/apiextensions-apiserver v0.36.4
	k8s.io/apimachinery v0.36.4
	k8s.io/client-go v0.36.4
	k8s.io/kube-aggregator v0.36.4
	sigs.k8s.io/yaml v1.6.0
)
