package main

import (
	stdnet "net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"osm-gitops.io/tests/oracle/types/amzn2"
	"osm-gitops.io/tests/oracle/types/flatcar"
	"osm-gitops.io/tests/oracle/types/providerconfig"
	"osm-gitops.io/tests/oracle/types/rhel"
	"osm-gitops.io/tests/oracle/types/rockylinux"
	"osm-gitops.io/tests/oracle/types/ubuntu"
	"osm-gitops.io/tests/oracle/types/v1alpha1"
)

// root has the fields of osm-behaviour.md, "Template data", with Go's types.
type root struct {
	KubeVersion                   string
	ClusterDNSIPs                 []stdnet.IP
	KubernetesCACert              string
	HostCACert                    string
	InTreeCCMAvailable            bool
	ExternalCloudProvider         bool
	CloudConfig                   string
	ContainerRuntime              string
	CloudProviderName             v1alpha1.CloudProvider
	NetworkConfig                 *providerconfig.NetworkConfig
	NetworkIPFamily               string
	InitialTaints                 string
	HTTPProxy                     *string
	NoProxy                       *string
	ContainerRuntimeConfig        string
	ContainerRuntimeAuthConfig    string
	KubeletFeatureGates           map[string]bool
	PauseImage                    string
	BootstrapKubeconfig           string
	Token                         string
	ServerURL                     string
	SecretName                    string
	BootstrapKubeconfigSecretName string
	KubeReserved                  *map[string]string
	SystemReserved                *map[string]string
	EvictionHard                  *map[string]string
	MaxPods                       *int32
	ImageGCHighThresholdPercent   *int32
	ImageGCLowThresholdPercent    *int32
	ContainerLogMaxSize           *string
	ContainerLogMaxFiles          *string
	ImageMinimumGCAge             *metav1.Duration
	ImageMaximumGCAge             *metav1.Duration
	AmazonLinuxConfig             amzn2.Config
	UbuntuConfig                  ubuntu.Config
	RockyLinuxConfig              rockylinux.Config
	FlatcarConfig                 flatcar.Config
	RhelConfig                    rhel.Config
	KubeletConfiguration          string
	KubeletSystemdUnit            string
	CNIVersion                    string
	ServerAddress                 string
	RHSubscription                map[string]string
}
