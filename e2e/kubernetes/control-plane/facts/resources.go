package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

type kindRef struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
}

type subresource struct {
	Subresource  string   `json:"subresource"`
	ResponseKind kindRef  `json:"responseKind"`
	Verbs        []string `json:"verbs"`
}

type resource struct {
	Resource         string        `json:"resource"`
	ResponseKind     kindRef       `json:"responseKind"`
	Scope            string        `json:"scope"`
	SingularResource string        `json:"singularResource"`
	ShortNames       []string      `json:"shortNames,omitempty"`
	Categories       []string      `json:"categories,omitempty"`
	Verbs            []string      `json:"verbs"`
	Subresources     []subresource `json:"subresources,omitempty"`
}

type group struct {
	Group     string     `json:"group"`
	Version   string     `json:"version"`
	Resources []resource `json:"resources"`
}

// readResources keeps the stable versions of each group, in the order in which a kube-apiserver lists them.
func readResources(folder string) ([]group, error) {
	core, err := readCore(filepath.Join(folder, "api__v1.json"))
	if err != nil {
		return nil, err
	}
	groups := []group{core}
	var document struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []resource
			}
		}
	}
	if err := readJSON(filepath.Join(folder, "aggregated_v2.json"), &document); err != nil {
		return nil, err
	}
	for _, g := range document.Items {
		for _, version := range g.Versions {
			if stable.MatchString(version.Version) {
				groups = append(groups, group{Group: g.Metadata.Name, Version: version.Version, Resources: version.Resources})
			}
		}
	}
	return groups, nil
}

// readCore reads the core group, which the aggregated document leaves out, from its document of the older form.
func readCore(path string) (group, error) {
	var document struct {
		Resources []struct {
			Name, SingularName, Kind, Group, Version string
			Namespaced                               bool
			Verbs, ShortNames, Categories            []string
		}
	}
	core := group{Version: "v1"}
	if err := readJSON(path, &document); err != nil {
		return core, err
	}
	for _, r := range document.Resources {
		kind := kindRef{Group: r.Group, Version: r.Version, Kind: r.Kind}
		parent, sub, nested := strings.Cut(r.Name, "/")
		if nested {
			for i := range core.Resources {
				if core.Resources[i].Resource == parent {
					core.Resources[i].Subresources = append(core.Resources[i].Subresources, subresource{sub, kind, r.Verbs})
				}
			}
			continue
		}
		scope := "Cluster"
		if r.Namespaced {
			scope = "Namespaced"
		}
		core.Resources = append(core.Resources, resource{
			Resource: r.Name, ResponseKind: kind, Scope: scope, SingularResource: r.SingularName,
			ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
		})
	}
	return core, nil
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
