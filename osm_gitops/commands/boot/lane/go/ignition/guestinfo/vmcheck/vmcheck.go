// Package vmcheck stands in for the detection of VMware that Ignition is compiled with.
package vmcheck

// IsVirtualWorld says that this is no machine of VMware.
func IsVirtualWorld() bool { return false }
