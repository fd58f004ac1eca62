// Package rhel bears the name that templates see in %T.
package rhel

type Config struct {
	DistUpgradeOnBoot               bool   `json:"distUpgradeOnBoot"`
	RHELSubscriptionManagerUser     string `json:"rhelSubscriptionManagerUser"`
	RHELSubscriptionManagerPassword string `json:"rhelSubscriptionManagerPassword"`
	RHSMOfflineToken                string `json:"rhsmOfflineToken"`
	AttachSubscription              bool   `json:"attachSubscription"`
	RHELUseSatelliteServer          bool   `json:"rhelUseSatelliteServer"`
	RHELSatelliteServer             string `json:"rhelSatelliteServer"`
	RHELOrganizationName            string `json:"rhelOrganizationName"`
	RHELActivationKey               string `json:"rhelActivationKey"`
}
