package main

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// cluster holds the decoded objects of one line.
type cluster struct {
	pod     *v1.Pod
	nodes   []*v1.Node
	pods    []*v1.Pod
	objects []runtime.Object
}

// decode reads the objects with client-go's scheme, which adds no defaults: the scheduler sees what the API server stored.
func decode(podKey string, raw []json.RawMessage) (*cluster, error) {
	decoder := clientscheme.Codecs.UniversalDeserializer()
	c := &cluster{}
	for i, r := range raw {
		object, _, err := decoder.Decode(r, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		switch o := object.(type) {
		case *v1.Node:
			c.nodes = append(c.nodes, o)
		case *v1.Pod:
			switch {
			case o.Namespace+"/"+o.Name == podKey:
				c.pod = o
			case o.Status.Phase == v1.PodSucceeded || o.Status.Phase == v1.PodFailed:
				continue // The scheduler's own pod informer leaves them out.
			default:
				c.pods = append(c.pods, o)
			}
		}
		c.objects = append(c.objects, object)
	}
	if c.pod == nil {
		return nil, fmt.Errorf("no pod %q among the objects", podKey)
	}
	return c, nil
}

// snapshot runs nodes and assigned pods through the scheduler's own cache. The judged pod is never counted, even when it names
// its node.
func (c *cluster) snapshot(ctx context.Context) (*internalcache.Snapshot, error) {
	logger := klog.FromContext(ctx)
	cache := internalcache.New(ctx, nil, false, false)
	for _, n := range c.nodes {
		cache.AddNode(logger, n)
	}
	for _, p := range c.pods {
		if p.Spec.NodeName == "" {
			continue
		}
		if err := cache.AddPod(logger, p); err != nil {
			return nil, err
		}
	}
	snapshot := internalcache.NewEmptySnapshot()
	return snapshot, cache.UpdateSnapshot(logger, snapshot)
}

// fill puts the objects straight into the informers' stores. The plugins read through listers and indexes on those stores, so the
// informers need not run; it must happen after the plugins have added their indexes.
func (c *cluster) fill(factory informers.SharedInformerFactory) error {
	for _, object := range c.objects {
		gvk := object.GetObjectKind().GroupVersionKind()
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		informer, err := factory.ForResource(resource)
		if err != nil {
			return err
		}
		if err := informer.Informer().GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}
