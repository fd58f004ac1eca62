// Package net bears the name that templates see in %T.
package net

type IPFamily string

func (f IPFamily) HasIPv4() bool {
	return f == "" || f == "IPv4" || f.IsDualstack()
}

func (f IPFamily) HasIPv6() bool {
	return f == "IPv6" || f.IsDualstack()
}

func (f IPFamily) IsDualstack() bool {
	return f == "IPv4+IPv6" || f == "IPv6+IPv4"
}
