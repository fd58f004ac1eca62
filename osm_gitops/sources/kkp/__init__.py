"""The user clusters of a seed of Kubermatic Kubernetes Platform (KKP): records of its objects, and how they are read.

On a seed a cluster-scoped object Cluster describes each user cluster. The namespace that its status names has the
control plane, the kubeconfigs, and Operating System Manager, which works on the user cluster from there. Seeds,
KubermaticConfigurations and CustomOperatingSystemProfiles are in the namespace of KKP.
"""
