// Package providerconfig bears the name that templates see in %T.
package providerconfig

import "osm-gitops.io/tests/oracle/types/net"

type DNSConfig struct {
	Servers []string `json:"servers"`
}

type NetworkConfig struct {
	CIDR     string       `json:"cidr"`
	Gateway  string       `json:"gateway"`
	DNS      DNSConfig    `json:"dns"`
	IPFamily net.IPFamily `json:"ipFamily"`
}

func (n *NetworkConfig) IsStaticIPConfig() bool {
	return n != nil && (n.CIDR != "" || n.Gateway != "" || len(n.DNS.Servers) > 0)
}

func (n *NetworkConfig) GetIPFamily() net.IPFamily {
	if n == nil {
		return ""
	}
	return n.IPFamily
}
