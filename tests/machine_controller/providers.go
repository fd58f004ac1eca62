// Takes the place of pkg/cloudprovider/provider.go in machine-controller: of all clouds only its own fake one, whose
// instances are files that hold what they were created with.
package cloudprovider

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	clusterv1alpha1 "github.com/kubermatic/machine-controller/pkg/apis/cluster/v1alpha1"
	cloudprovidercache "github.com/kubermatic/machine-controller/pkg/cloudprovider/cache"
	clouderrors "github.com/kubermatic/machine-controller/pkg/cloudprovider/errors"
	"github.com/kubermatic/machine-controller/pkg/cloudprovider/instance"
	"github.com/kubermatic/machine-controller/pkg/cloudprovider/provider/fake"
	cloudprovidertypes "github.com/kubermatic/machine-controller/pkg/cloudprovider/types"
	"github.com/kubermatic/machine-controller/pkg/providerconfig"
	providerconfigtypes "github.com/kubermatic/machine-controller/pkg/providerconfig/types"
)

var (
	cache               = cloudprovidercache.New()
	ErrProviderNotFound = errors.New("only the fake provider is built in")
)

type recorder struct{ cloudprovidertypes.Provider }

func ForProvider(name providerconfigtypes.CloudProvider, resolver *providerconfig.ConfigVarResolver) (cloudprovidertypes.Provider, error) {
	if name != providerconfigtypes.CloudProviderFake {
		return nil, ErrProviderNotFound
	}
	return NewValidationCacheWrappingCloudProvider(recorder{fake.New(resolver)}), nil
}

func place(machine *clusterv1alpha1.Machine) string {
	return filepath.Join(os.Getenv("FAKE_INSTANCES"), string(machine.UID))
}

func (r recorder) Get(ctx context.Context, log *zap.SugaredLogger, machine *clusterv1alpha1.Machine, data *cloudprovidertypes.ProviderData) (instance.Instance, error) {
	if _, err := os.Stat(place(machine)); err != nil {
		return nil, clouderrors.ErrInstanceNotFound
	}
	return r.Provider.Get(ctx, log, machine, data)
}

func (r recorder) Create(ctx context.Context, log *zap.SugaredLogger, machine *clusterv1alpha1.Machine, data *cloudprovidertypes.ProviderData, userdata string) (instance.Instance, error) {
	record, err := json.Marshal(map[string]any{
		"machine":  machine.Name,
		"uid":      machine.UID,
		"pool":     machine.Labels["pool"],
		"kubelet":  machine.Spec.Versions.Kubelet,
		"at":       float64(time.Now().UnixMicro()) / 1e6,
		"userdata": userdata,
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(place(machine)+".new", record, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(place(machine)+".new", place(machine)); err != nil {
		return nil, err
	}
	return r.Provider.Create(ctx, log, machine, data, userdata)
}
