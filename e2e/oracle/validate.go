package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // Defaults and conversions for what is validated.
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install" // As above.
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// validate lists what the API server would have refused: a random cluster should be one that could exist. Kinds that nobody
// mutates are not looked at.
func validate(raw []json.RawMessage) []string {
	var found []string
	for _, r := range raw {
		object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), r)
		if runtime.IsNotRegisteredError(err) {
			continue
		}
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		var errs field.ErrorList
		name := ""
		switch o := object.(type) {
		case *core.Pod:
			opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&o.Spec, nil, &o.ObjectMeta, nil)
			opts.ResourceIsPod = true
			name, errs = "Pod "+o.Name, corevalidation.ValidatePodCreate(o, opts)
		case *core.Node:
			name, errs = "Node "+o.Name, corevalidation.ValidateNode(o)
		case *core.PersistentVolume:
			name = "PersistentVolume " + o.Name
			errs = corevalidation.ValidatePersistentVolume(o, corevalidation.ValidationOptionsForPersistentVolume(o, nil))
		case *core.PersistentVolumeClaim:
			name = "PersistentVolumeClaim " + o.Name
			errs = corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.ValidationOptionsForPersistentVolumeClaim(o, nil))
		case *storage.StorageClass:
			name, errs = "StorageClass "+o.Name, storagevalidation.ValidateStorageClass(o)
		case *storage.CSINode:
			name, errs = "CSINode "+o.Name, storagevalidation.ValidateCSINode(o)
		case *storage.CSIDriver:
			name, errs = "CSIDriver "+o.Name, storagevalidation.ValidateCSIDriver(o)
		case *storage.CSIStorageCapacity:
			opts := storagevalidation.CSIStorageCapacityValidateOptions{}
			name, errs = "CSIStorageCapacity "+o.Name, storagevalidation.ValidateCSIStorageCapacity(o, opts)
		case *storage.VolumeAttachment:
			name, errs = "VolumeAttachment "+o.Name, storagevalidation.ValidateVolumeAttachment(o)
		}
		for _, e := range errs {
			found = append(found, fmt.Sprintf("%s: %s", name, e.Error()))
		}
	}
	return found
}
