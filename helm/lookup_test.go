//go:build chart

package helm_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// cluster is an API server that has some objects of the group apps/v1 in the namespace ops, by kind and name as in the path.
func cluster(t *testing.T, objects map[string]object) string {
	t.Helper()
	discovery := map[string]any{
		"/version":      object{"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
		"/api":          object{"kind": "APIVersions", "versions": []string{"v1"}},
		"/api/v1":       object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []object{}},
		"/openapi/v3":   object{"paths": object{}},
		"/apis/apps/v1": resources("apps/v1", "Deployment", "deployments", "StatefulSet", "statefulsets"),
		"/apis": object{"kind": "APIGroupList", "groups": []object{{
			"name": "apps", "versions": []object{{"groupVersion": "apps/v1", "version": "v1"}},
			"preferredVersion": object{"groupVersion": "apps/v1", "version": "v1"},
		}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const namespaced = "/apis/apps/v1/namespaces/ops/"
		w.Header().Set("Content-Type", "application/json")
		answer := discovery[r.URL.Path]
		if found, ok := objects[r.URL.Path[min(len(namespaced), len(r.URL.Path)):]]; ok {
			answer = found
		}
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			answer = object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func resources(group string, kindsAndNames ...string) object {
	var all []object
	for i := 0; i < len(kindsAndNames); i += 2 {
		all = append(all, object{"kind": kindsAndNames[i], "name": kindsAndNames[i+1], "namespaced": true, "verbs": []string{"get"}})
	}
	return object{"kind": "APIResourceList", "groupVersion": group, "resources": all}
}

// renderIn renders the chart as an installation into a cluster would.
func renderIn(t *testing.T, server, set string) (string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	return helm(t, "template", "my", "relay", "--namespace", "ops", "--dry-run=server", kubernetes,
		"--kube-apiserver", server, "--set", set)
}

// Kubernetes would set 1 when the number of replicas leaves the Deployment, and the autoscaler would correct it only later.
func TestTurningAutoscalingOnKeepsTheReplicas(t *testing.T) {
	for live, want := range map[int]int{4: 4, 1: 2, 9: 6} {
		server := cluster(t, map[string]object{"deployments/my-relay": {
			"kind": "Deployment", "apiVersion": "apps/v1", "metadata": object{"name": "my-relay"}, "spec": object{"replicas": live},
		}})
		out, err := renderIn(t, server, "autoscaling.enabled=true,redisURL=redis://r")
		require.NoError(t, err, out)
		require.Equal(t, want, at[int](t, objectsOf(t, out)["Deployment/my-relay"], "spec", "replicas"))
	}
	out, err := renderIn(t, cluster(t, nil), "autoscaling.enabled=true,redisURL=redis://r")
	require.NoError(t, err, out)
	require.NotContains(t, at[object](t, objectsOf(t, out)["Deployment/my-relay"], "spec"), "replicas")
}

// Kubernetes would refuse another size after half of the upgrade.
func TestTheVolumeOfTheBundledRedisKeepsItsSize(t *testing.T) {
	server := cluster(t, map[string]object{"statefulsets/my-relay-redis": {
		"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": object{"name": "my-relay-redis"},
		"spec": object{"volumeClaimTemplates": []object{{
			"spec": object{"storageClassName": "fast", "resources": object{"requests": object{"storage": "2Gi"}}},
		}}},
	}})
	const set = "bundledRedis.enabled=true,redisPassword=x,"
	out, err := renderIn(t, server, set+"bundledRedis.storageClass=fast")
	require.NoError(t, err, out)
	out, err = renderIn(t, server, set+"bundledRedis.size=4Gi,bundledRedis.storageClass=slow")
	require.Error(t, err)
	require.Contains(t, out, "bundledRedis.size: it was 2Gi at the installation and cannot be changed; keep that, or delete the StatefulSet")
	require.Contains(t, out, "bundledRedis.storageClass: it was fast at the installation and cannot be changed; keep that")
}
