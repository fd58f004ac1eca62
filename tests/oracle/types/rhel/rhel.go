// Package rhel bears the name that templates see in %T.
package rhel

type Config struct {
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
