package main

import (
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type cloudProvider string

type ipFamily string

func (f ipFamily) HasIPv4() bool {
	return f == "" || f == "IPv4" || f == "IPv4+IPv6" || f == "IPv6+IPv4"
}
func (f ipFamily) HasIPv6() bool     { return f == "IPv6" || f == "IPv4+IPv6" || f == "IPv6+IPv4" }
func (f ipFamily) IsDualstack() bool { return f == "IPv4+IPv6" || f == "IPv6+IPv4" }

type provisioningUtility string

type dnsConfig struct {
	Servers []string
}

type networkConfig struct {
	CIDR     string
	Gateway  string
	DNS      dnsConfig
	IPFamily ipFamily
}

func (n *networkConfig) IsStaticIPConfig() bool {
	return n != nil && (n.CIDR != "" || n.Gateway != "" || len(n.DNS.Servers) > 0)
}

func (n *networkConfig) GetIPFamily() ipFamily {
	if n == nil {
		return ""
	}
	return n.IPFamily
}

type distUpgrade struct {
	DistUpgradeOnBoot bool
}

type flatcarConfig struct {
	DisableAutoUpdate   bool
	DisableLocksmithD   bool
	DisableUpdateEngine bool
	ProvisioningUtility provisioningUtility
}

type rhelConfig struct {
	DistUpgradeOnBoot               bool
	RHELSubscriptionManagerUser     string
	RHELSubscriptionManagerPassword string
	RHSMOfflineToken                string
	AttachSubscription              bool
	RHELUseSatelliteServer          bool
	RHELSatelliteServer             string
	RHELOrganizationName            string
	RHELActivationKey               string
}

// root has the fields of contract §5.1, with Go's types.
type root struct {
	KubeVersion                   string
	ClusterDNSIPs                 []net.IP
	KubernetesCACert              string
	HostCACert                    string
	InTreeCCMAvailable            bool
	ExternalCloudProvider         bool
	CloudConfig                   string
	ContainerRuntime              string
	CloudProviderName             cloudProvider
	NetworkConfig                 *networkConfig
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
	AmazonLinuxConfig             distUpgrade
	UbuntuConfig                  distUpgrade
	RockyLinuxConfig              distUpgrade
	FlatcarConfig                 flatcarConfig
	RhelConfig                    rhelConfig
	KubeletConfiguration          string
	KubeletSystemdUnit            string
	CNIVersion                    string
	ServerAddress                 string
	RHSubscription                map[string]string
}
