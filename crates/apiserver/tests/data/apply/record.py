#!/usr/bin/env python3
"""Runs sequences of writes on a real kube-apiserver and writes what it answers: one JSON file per sequence, beside this script.

Usage: record.py SERVER TOKEN [NAME...]. The namespace `apply` must exist. Times in managedFields are written as the number of the
step that set them; uids, versions and creation times are left out.
"""
import json, os, ssl, sys, time, urllib.error, urllib.request

SERVER, TOKEN = sys.argv[1], sys.argv[2]
CONTEXT = ssl._create_unverified_context()
TYPES = {'apply': 'application/apply-patch+yaml', 'merge': 'application/merge-patch+json',
         'strategic': 'application/strategic-merge-patch+json', 'json': 'application/json-patch+json'}
KINDS = {  # kind -> (apiVersion, plural, namespaced)
    'ConfigMap': ('v1', 'configmaps', True), 'Secret': ('v1', 'secrets', True), 'Pod': ('v1', 'pods', True),
    'Service': ('v1', 'services', True), 'PersistentVolumeClaim': ('v1', 'persistentvolumeclaims', True),
    'PersistentVolume': ('v1', 'persistentvolumes', False), 'Node': ('v1', 'nodes', False),
    'Namespace': ('v1', 'namespaces', False), 'ServiceAccount': ('v1', 'serviceaccounts', True),
    'Deployment': ('apps/v1', 'deployments', True), 'StatefulSet': ('apps/v1', 'statefulsets', True),
    'DaemonSet': ('apps/v1', 'daemonsets', True), 'Job': ('batch/v1', 'jobs', True),
    'StorageClass': ('storage.k8s.io/v1', 'storageclasses', False), 'CSINode': ('storage.k8s.io/v1', 'csinodes', False),
    'VolumeAttachment': ('storage.k8s.io/v1', 'volumeattachments', False),
    'PodDisruptionBudget': ('policy/v1', 'poddisruptionbudgets', True),
    'ClusterRole': ('rbac.authorization.k8s.io/v1', 'clusterroles', False),
    'Lease': ('coordination.k8s.io/v1', 'leases', True), 'Ingress': ('networking.k8s.io/v1', 'ingresses', True),
    'Thing': ('fields.example.com/v1', 'things', True),
    'CustomResourceDefinition': ('apiextensions.k8s.io/v1', 'customresourcedefinitions', False),
}


def call(method, path, body=None, kind='application/json'):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data=data, method=method)
    request.add_header('Authorization', 'Bearer ' + TOKEN)
    request.add_header('Content-Type', kind)
    request.add_header('User-Agent', 'recorder/1.0')
    try:
        with urllib.request.urlopen(request, context=CONTEXT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def scrub(value, times, step):
    value = json.loads(json.dumps(value))
    meta = value.get('metadata', {})
    for key in ('uid', 'resourceVersion', 'creationTimestamp'):
        meta.pop(key, None)
    for entry in meta.get('managedFields', []):
        if 'time' in entry:
            entry['time'] = times.setdefault(entry['time'], step)
    return value


def run(name, kind, steps):
    version, plural, namespaced = KINDS[kind]
    prefix = ('/api/' if '/' not in version else '/apis/') + version
    base = prefix + ('/namespaces/apply/' if namespaced else '/') + plural
    full = 'apply-' + name
    if kind == 'CustomResourceDefinition':
        full = 'things.' + name + '.example.com'
    path = base + '/' + full
    call('DELETE', path + '?gracePeriodSeconds=0', {'propagationPolicy': 'Background'})
    out, times, last = [], {}, None
    for at, step in enumerate(steps):
        do, manager, body, options = step[0], step[1], step[2], (step[3] if len(step) > 3 else {})
        sub = options.get('subresource', '')
        query = '?fieldManager=' + manager + ('&force=true' if options.get('force') else '')
        if do in ('create', 'apply'):
            body = {'apiVersion': version, 'kind': kind, **body}
            body['metadata'] = {'name': full, **({'namespace': 'apply'} if namespaced else {}), **body.get('metadata', {})}
        where = path + ('/' + sub if sub else '')
        live_code, live = call('GET', path)
        before = scrub(live, times, at - 1) if live_code == 200 else None
        last_seen = next((r['object'] for r in reversed(out) if 'object' in r), None)
        if do == 'create':
            code, answer = call('POST', base + query, body)
        elif do == 'put':  # body: a function of the live object
            body = body(json.loads(json.dumps(last)))
            code, answer = call('PUT', where + query, body)
        else:
            code, answer = call('PATCH', where + query, body, TYPES[do])
        record = {'do': do, 'manager': manager, 'subresource': sub, 'force': bool(options.get('force')), 'code': code}
        if do == 'apply':
            record['config'] = body
        elif do != 'json' and isinstance(body.get('metadata'), dict) and 'managedFields' in body['metadata']:
            record['sent'] = body['metadata']['managedFields']
        if do == 'put':
            record['sent'] = scrub({'metadata': {'managedFields': body['metadata'].get('managedFields', [{}])}}, times, at)['metadata']['managedFields'] if 'managedFields' in body['metadata'] else None
        if before is not None and before != last_seen:  # a controller of the server itself has written in between
            record['before'] = before
        if code >= 400:
            record['status'] = answer
            if not options.get('fails'):
                print('!!', name, at, answer.get('message'))
        else:
            last = answer
            record['object'] = scrub(answer, times, at)
            if options.get('fails'):
                print('!! should fail', name, at)
        out.append(record)
        time.sleep(1.05)
    call('DELETE', path + '?gracePeriodSeconds=0', {'propagationPolicy': 'Background'})
    document = {'apiVersion': version, 'kind': kind, 'steps': out}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + '.json'), 'w') as f:
        json.dump(document, f, indent=1, sort_keys=True)
        f.write('\n')


def template(image='nginx:1', **spec):
    return {'metadata': {'labels': {'app': 'a'}}, 'spec': {'containers': [{'name': 'c', 'image': image, **spec.pop('container', {})}], **spec}}


def deployment(replicas=None, image='nginx:1', **more):
    spec = {'selector': {'matchLabels': {'app': 'a'}}, 'template': template(image, **more)}
    if replicas is not None:
        spec['replicas'] = replicas
    return {'spec': spec}


def with_last(body, kind, name, version, **meta):
    full = {'apiVersion': version, 'kind': kind, 'metadata': {'annotations': {}, 'name': name, 'namespace': 'apply', **meta}, **body}
    text = json.dumps(full, separators=(',', ':'), sort_keys=True) + '\n'
    return {'metadata': {**meta, 'annotations': {'kubectl.kubernetes.io/last-applied-configuration': text}}, **body}


def changed(**paths):
    """A PUT body: the live object with some paths (a__b__c) set."""
    def change(live):
        for path, value in paths.items():
            steps = path.split('__')
            at = live
            for step in steps[:-1]:
                at = at.setdefault(step, {})
            if value is None:
                at.pop(steps[-1], None)
            else:
                at[steps[-1]] = value
        return live
    return change


# The type of `Thing`; the replay has the same one.
THING = {'type': 'object', 'properties': {
    'spec': {'type': 'object', 'properties': {
        'any': {'x-kubernetes-preserve-unknown-fields': True},
        'open': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'known': {'type': 'string'}}},
        'set': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}},
        'keyed': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id', 'zone'], 'items': {
            'type': 'object', 'required': ['id'], 'properties': {'id': {'type': 'integer'}, 'zone': {'type': 'string', 'default': 'z'}, 'v': {'type': 'string'}}}},
        'plain': {'type': 'array', 'items': {'type': 'string'}},
        'whole': {'type': 'object', 'x-kubernetes-map-type': 'atomic', 'additionalProperties': {'type': 'string'}},
        'map': {'type': 'object', 'additionalProperties': {'type': 'integer'}},
        'size': {'x-kubernetes-int-or-string': True}}},
    'status': {'type': 'object', 'properties': {'phase': {'type': 'string'}}}}}


def define_thing():
    name = 'things.fields.example.com'
    call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': name},
        'spec': {'group': 'fields.example.com', 'scope': 'Namespaced', 'names': {'plural': 'things', 'kind': 'Thing'}, 'versions': [
            {'name': 'v1', 'served': True, 'storage': True, 'subresources': {'status': {}}, 'schema': {'openAPIV3Schema': THING}}]}})
    time.sleep(5)


FAILS = {'fails': True}
FORCE = {'force': True}
STATUS = {'subresource': 'status'}
port = lambda n, **k: {'port': n, **k}
CASES = {
    'deployment-writes': ('Deployment', [
        ('create', 'creator', deployment(2)),
        ('merge', 'scaler', {'spec': {'replicas': 3}}),
        ('strategic', 'imager', {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'nginx:2'}]}}}}),
        ('json', 'labeler', [{'op': 'add', 'path': '/metadata/labels', 'value': {'x': 'y'}}]),
        ('put', 'putter', changed(spec__replicas=4, metadata__annotations={'a': 'b'})),
        ('put', 'putter', lambda live: live),
        ('merge', 'scaler', {'spec': {'replicas': 4}}),
        ('merge', 'imager', {'metadata': {'labels': None, 'annotations': {'a': None}}}),
    ]),
    'deployment-apply': ('Deployment', [
        ('apply', 'one', deployment(2, container={'ports': [{'containerPort': 80}], 'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}]})),
        ('apply', 'one', deployment(2, container={'ports': [{'containerPort': 80}], 'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}]})),
        ('apply', 'one', deployment(3, container={'ports': [{'containerPort': 80}], 'env': [{'name': 'B', 'value': '2'}, {'name': 'A', 'value': '3'}]})),
        ('apply', 'one', deployment(None, container={'env': [{'name': 'C', 'value': '2'}]})),
        ('apply', 'two', {'metadata': {'labels': {'two': '2'}}}),
        ('apply', 'two', {}),
    ]),
    'deployment-shared': ('Deployment', [
        ('apply', 'one', {'metadata': {'labels': {'a': '1', 'b': '1'}}, **deployment(2)}),
        ('apply', 'two', {'metadata': {'labels': {'a': '1'}}, **deployment(2)}),
        ('apply', 'one', {'metadata': {'labels': {'b': '1'}}, 'spec': {'selector': {'matchLabels': {'app': 'a'}}}}),
        ('apply', 'two', {'metadata': {'labels': {'a': '1'}}, **deployment(None)}),
    ]),
    'deployment-conflict': ('Deployment', [
        ('apply', 'one', deployment(2)),
        ('apply', 'two', {'spec': {'replicas': 5}}, FAILS),
        ('apply', 'two', deployment(5, 'nginx:9'), FAILS),
        ('apply', 'two', deployment(5, 'nginx:9'), FORCE),
        ('apply', 'one', deployment(2), FAILS),
        ('apply', 'one', deployment(5, 'nginx:9')),
        ('merge', 'updater', {'spec': {'replicas': 7}}),
        ('apply', 'one', deployment(8, 'nginx:9'), FAILS),
        ('apply', 'one', deployment(8, 'nginx:9'), FORCE),
    ]),
    'deployment-status-conflict': ('Deployment', [
        ('create', 'creator', deployment(1)),
        ('merge', 'controller', {'status': {'replicas': 1, 'observedGeneration': 1, 'conditions': [{'type': 'Available', 'status': 'True', 'reason': 'r', 'message': 'm'}]}}, STATUS),
        ('apply', 'other', {'status': {'replicas': 2, 'conditions': [{'type': 'Available', 'status': 'False'}]}}, {'subresource': 'status', 'fails': True}),
        ('apply', 'other', {'spec': {'replicas': 9}, 'metadata': {'labels': {'l': 'x'}}, 'status': {'readyReplicas': 1, 'replicas': 1, 'conditions': [{'type': 'Progressing', 'status': 'True'}]}}, STATUS),
        ('apply', 'other', {'spec': {'replicas': 9}, 'status': {'replicas': 5}}, FAILS),
        ('apply', 'other', {'spec': {'paused': True}, 'status': {'replicas': 5}}),
        ('apply', 'other', {'status': {'replicas': 3}}, {'subresource': 'status', 'force': True}),
        ('put', 'controller', changed(status__replicas=4, spec__replicas=5), STATUS),
    ]),
    'upgrade-from-client-side': ('Deployment', [
        ('create', 'kubectl-client-side-apply', with_last(deployment(2), 'Deployment', 'apply-upgrade-from-client-side', 'apps/v1')),
        ('apply', 'other', deployment(3), FAILS),
        ('apply', 'kubectl', deployment(3)),
        ('apply', 'kubectl', deployment(3, 'nginx:2')),
        ('apply', 'kubectl', {**deployment(None, 'nginx:2<&>'), 'metadata': {'annotations': {'x': 'y'}}}),
    ]),
    'upgrade-with-drift': ('Deployment', [
        ('create', 'kubectl-client-side-apply', with_last(deployment(2), 'Deployment', 'apply-upgrade-with-drift', 'apps/v1')),
        ('merge', 'kubectl-scale', {'spec': {'replicas': 5}}),
        ('apply', 'kubectl', deployment(3, 'nginx:3'), FAILS),
        ('apply', 'kubectl', deployment(5, 'nginx:3')),
        ('apply', 'kubectl', deployment(6, 'nginx:3'), FORCE),
    ]),
    'pod-life': ('Pod', [
        ('create', 'kubectl-run', {'metadata': {'labels': {'run': 'p'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i', 'resources': {'limits': {'cpu': '1', 'memory': '1Gi'}}, 'volumeMounts': [{'name': 'v', 'mountPath': '/v'}], 'ports': [{'containerPort': 80, 'protocol': 'UDP'}, {'containerPort': 80}]}], 'volumes': [{'name': 'v', 'emptyDir': {}}], 'nodeSelector': {'a': 'b'}}}),
        ('strategic', 'kubelet', {'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'}], 'podIP': '10.0.0.1', 'podIPs': [{'ip': '10.0.0.1'}]}}, STATUS),
        ('strategic', 'kubelet', {'status': {'conditions': [{'type': 'Ready', 'status': 'False'}, {'type': 'Initialized', 'status': 'True'}], 'containerStatuses': [{'name': 'c', 'ready': True, 'restartCount': 0, 'image': 'i', 'imageID': 'x'}]}}, STATUS),
        ('merge', 'labeler', {'metadata': {'labels': {'more': 'x', 'run': None}}}),
        ('apply', 'ssa', {'spec': {'containers': [{'name': 'c', 'image': 'i:2'}]}}, FAILS),
        ('apply', 'ssa', {'spec': {'containers': [{'name': 'c', 'image': 'i:2'}]}}, FORCE),
        ('merge', 'kubelet', {'status': {'podIPs': None, 'podIP': None}}, STATUS),
    ]),
    'pod-apply-lists': ('Pod', [
        ('apply', 'one', {'spec': {'containers': [{'name': 'b', 'image': 'b'}, {'name': 'a', 'image': 'a', 'env': [{'name': 'X', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}}], 'command': ['x', 'y'], 'securityContext': {'runAsUser': 1}}], 'tolerations': [{'key': 'k', 'operator': 'Exists'}], 'hostAliases': [{'ip': '1.2.3.4', 'hostnames': ['h']}], 'imagePullSecrets': [{'name': 's'}], 'topologySpreadConstraints': [{'maxSkew': 1, 'topologyKey': 'z', 'whenUnsatisfiable': 'DoNotSchedule', 'labelSelector': {'matchLabels': {'a': 'b'}}}], 'affinity': {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'k', 'operator': 'In', 'values': ['v']}]}]}}}, 'securityContext': {}, 'volumes': [{'name': 'd', 'configMap': {'name': 'm', 'items': [{'key': 'k', 'path': 'p'}]}}, {'name': 'e', 'emptyDir': {}}]}}),
        ('apply', 'two', {'spec': {'containers': [{'name': 'a', 'image': 'a'}]}}),
        ('apply', 'two', {'spec': {'containers': [{'name': 'a', 'image': 'a:2'}, {'name': 'b', 'image': 'b'}]}}, FAILS),
        ('apply', 'two', {'metadata': {'finalizers': ['example.com/a']}, 'spec': {'containers': [{'name': 'a', 'image': 'a:2'}]}}, FORCE),
        ('apply', 'three', {'metadata': {'finalizers': ['example.com/b', 'example.com/a'], 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Node', 'name': 'n', 'uid': 'u1'}]}}),
        ('apply', 'three', {'metadata': {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Node', 'name': 'n', 'uid': 'u2'}]}}),
        ('merge', 'rest', {'metadata': {'finalizers': None}}),
    ]),
    'pod-subresources': ('Pod', [
        ('create', 'creator', {'spec': {'containers': [{'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': '1'}}}]}}),
        ('strategic', 'debugger', {'spec': {'ephemeralContainers': [{'name': 'd', 'image': 'j', 'targetContainerName': 'c'}]}}, {'subresource': 'ephemeralcontainers'}),
        ('strategic', 'resizer', {'spec': {'containers': [{'name': 'c', 'resources': {'requests': {'cpu': '2'}}}]}}, {'subresource': 'resize'}),
        ('apply', 'resizer', {'spec': {'containers': [{'name': 'c', 'resources': {'requests': {'cpu': '3'}}}]}}, {'subresource': 'resize', 'fails': True}),
        ('apply', 'resizer', {'spec': {'containers': [{'name': 'c', 'resources': {'requests': {'cpu': '3'}}}]}}, {'subresource': 'resize', 'force': True}),
        ('strategic', 'conditioner', {'status': {'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': 'm'}], 'nominatedNodeName': 'n'}}, STATUS),
    ]),
    'pod-duplicates': ('Pod', [
        ('create', 'creator', {'spec': {'containers': [{'name': 'c', 'image': 'i', 'env': [{'name': 'A', 'value': '1'}, {'name': 'A', 'value': '2'}, {'name': 'B', 'value': '1'}]}]}}),
        ('apply', 'one', {'metadata': {'labels': {'a': 'b'}}}),
        ('apply', 'one', {'spec': {'containers': [{'name': 'c', 'image': 'i', 'env': [{'name': 'B', 'value': '1'}]}]}}),
        ('apply', 'one', {'spec': {'containers': [{'name': 'c', 'env': [{'name': 'B', 'value': '1'}, {'name': 'B', 'value': '1'}]}]}}, FAILS),
    ]),
    'service-ports': ('Service', [
        ('apply', 'one', {'spec': {'type': 'LoadBalancer', 'selector': {'a': 'b'}, 'ports': [{'name': 'http', 'port': 80}]}}),
        ('apply', 'two', {'spec': {'ports': [{'name': 'dns', 'port': 53, 'protocol': 'UDP'}, {'name': 'dnst', 'port': 53, 'protocol': 'TCP', 'targetPort': 5353}]}}),
        ('apply', 'two', {'spec': {'ports': [{'name': 'dnst', 'port': 53, 'targetPort': 'named'}]}}),
        ('apply', 'three', {'spec': {'ports': [{'port': 80, 'name': 'x'}]}}, FAILS),
        ('apply', 'three', {'spec': {'ports': [{'port': 80, 'name': 'x'}, {'port': 80, 'protocol': 'TCP'}]}}, FAILS),
        ('apply', 'three', {'spec': {'type': 'LoadBalancer', 'sessionAffinity': 'None'}}),
        ('strategic', 'patcher', {'spec': {'ports': [{'port': 443, 'name': 'tls'}]}}),
        ('apply', 'one', {'spec': {'selector': {'a': 'c'}, 'ports': [{'name': 'web', 'port': 8080}]}}),
        ('merge', 'lb', {'status': {'loadBalancer': {'ingress': [{'ip': '1.1.1.1'}]}}}, STATUS),
    ]),
    'service-create': ('Service', [
        ('create', 'creator', {'spec': {'selector': {'a': 'b'}, 'ports': [{'name': 'http', 'port': 80}, {'name': 'udp', 'port': 80, 'protocol': 'UDP'}], 'type': 'NodePort'}}),
        ('apply', 'one', {'spec': {'ports': [{'port': 80, 'name': 'web'}]}}, FAILS),
        ('apply', 'one', {'spec': {'ports': [{'port': 80, 'name': 'web'}]}}, FORCE),
        ('json', 'patcher', [{'op': 'remove', 'path': '/spec/ports/0'}]),
    ]),
    'claim': ('PersistentVolumeClaim', [
        ('create', 'creator', {'spec': {'accessModes': ['ReadWriteOnce'], 'storageClassName': 's', 'resources': {'requests': {'storage': '1Gi'}}}}),
        ('merge', 'scheduler', {'metadata': {'annotations': {'volume.kubernetes.io/selected-node': 'n'}}}),
        ('put', 'binder', changed(spec__volumeName='v', metadata__annotations={'pv.kubernetes.io/bind-completed': 'yes'})),
        ('put', 'binder', changed(status={'phase': 'Bound', 'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '1Gi'}}), STATUS),
        ('apply', 'ssa', {'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1024Mi'}}}}, FAILS),
        ('apply', 'ssa', {'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1024Mi'}}}}, FORCE),
        ('apply', 'ssa', {'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1024Mi'}}}}),
        ('apply', 'ssa', {'metadata': {'labels': {'x': 'y'}}}, FAILS),
    ]),
    'claim-apply': ('PersistentVolumeClaim', [
        ('apply', 'one', {'spec': {'accessModes': ['ReadWriteOnce'], 'storageClassName': '', 'resources': {'requests': {'storage': '1.5Gi'}}, 'selector': {'matchLabels': {'a': 'b'}}}}),
        ('apply', 'one', {'spec': {'accessModes': ['ReadWriteOnce'], 'storageClassName': '', 'resources': {'requests': {'storage': '1.5Gi'}}, 'selector': {'matchLabels': {'a': 'b'}}}}),
        ('apply', 'two', {'status': {'conditions': [{'type': 'Resizing', 'status': 'True', 'lastTransitionTime': None}], 'phase': 'Pending'}}, STATUS),
        ('apply', 'two', {'status': {}}, STATUS),
    ]),
    'volume': ('PersistentVolume', [
        ('create', 'provisioner', {'spec': {'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteOnce'], 'csi': {'driver': 'd', 'volumeHandle': 'h', 'volumeAttributes': {'a': 'b'}}, 'nodeAffinity': {'required': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'k', 'operator': 'In', 'values': ['v']}]}]}}, 'storageClassName': 's'}}),
        ('merge', 'binder', {'spec': {'claimRef': {'kind': 'PersistentVolumeClaim', 'namespace': 'x', 'name': 'y', 'uid': 'u'}}}),
        ('merge', 'binder', {'status': {'phase': 'Bound'}}, STATUS),
        ('put', 'binder', changed(spec__claimRef={'kind': 'PersistentVolumeClaim', 'namespace': 'x', 'name': 'y', 'uid': 'u', 'apiVersion': 'v1'}, metadata__finalizers=['a.b/c'])),
        ('apply', 'ssa', {'spec': {'claimRef': {'namespace': 'x', 'name': 'z'}, 'persistentVolumeReclaimPolicy': 'Retain'}}, FAILS),
        ('apply', 'ssa', {'spec': {'persistentVolumeReclaimPolicy': 'Retain', 'csi': {'driver': 'd'}}}),
        ('apply', 'ssa', {'spec': {'persistentVolumeReclaimPolicy': 'Delete'}}, FORCE),
    ]),
    'config': ('ConfigMap', [
        ('create', 'creator', {'data': {'a': '1', 'b': '2'}, 'binaryData': {'c': 'AAAA'}}),
        ('apply', 'one', {'data': {'a': '1', 'd': '4'}}),
        ('apply', 'one', {'data': {'d': '5', 'e': ''}}),
        ('apply', 'one', {'data': {}}),
        ('apply', 'one', {}),
        ('put', 'putter', changed(data={'z': '1'}, binaryData=None)),
        ('merge', 'putter', {'data': None}),
    ]),
    'config-apply-first': ('ConfigMap', [
        ('apply', 'one', {'data': {'a': '1', 'b': '2'}, 'immutable': False}),
        ('merge', 'upd', {'data': {'b': '3'}}),
        ('apply', 'one', {'data': {'a': '1', 'b': '2'}}, FAILS),
        ('apply', 'one', {'data': {'a': '1'}}),
        ('merge', 'upd', {'data': {'a': '9'}}),
        ('apply', 'two', {'data': {'a': '9', 'b': '3'}}),
        ('apply', 'two', {'metadata': {'annotations': {'only': 'this'}}}),
        ('apply', 'two', {'metadata': {'annotations': {}}}),
        ('apply', 'three', {}),
    ]),
    'config-nulls': ('ConfigMap', [
        ('apply', 'one', {'data': {'a': '1', 'b': None}, 'immutable': None, 'binaryData': None}),
        ('apply', 'one', {'data': {'a': None, 'b': None}, 'immutable': None, 'binaryData': None}),
        ('apply', 'one', {'data': None}),
        ('apply', 'one', {'data': {'x': '<&>"é'}, 'metadata': {'labels': None}}),
    ]),
    'config-refused': ('ConfigMap', [
        ('apply', 'one', {'data': {'a': '1'}, 'other': 1}, FAILS),
        ('apply', 'one', {'data': {'a': 1}}, FAILS),
        ('apply', 'one', {'data': ['a']}, FAILS),
        ('apply', 'one', {'data': 'a'}, FAILS),
        ('apply', 'one', {'immutable': 'yes'}, FAILS),
        ('apply', 'one', {'immutable': {'a': [1, 'b', {'c': None}]}}, FAILS),
        ('apply', 'one', {'metadata': {'managedFields': []}}, FAILS),
        ('apply', 'one', {'metadata': {'managedFields': [{'manager': 'x'}]}}, FAILS),
        ('apply', 'one', {'metadata': {'finalizers': ['a.b/c', 'a.b/c']}}, FAILS),
        ('apply', 'one', {'metadata': {'finalizers': [{}]}}, FAILS),
        ('apply', 'one', {'metadata': {'ownerReferences': [{'name': 'x'}, None]}}, FAILS),
        ('apply', 'one', {'metadata': {'labels': {'a': {'b': 'c'}}}}, FAILS),
        ('apply', 'one', {'metadata': {'generation': 'x'}}, FAILS),
        ('apply', 'one', {'kind': 'Secret'}, FAILS),
        ('apply', 'one', {'apiVersion': 'apps/v1'}, FAILS),
    ]),
    'refused-deployment': ('Deployment', [
        ('apply', 'one', deployment('2'), FAILS),
        ('apply', 'one', deployment(1, container={'env': [{'name': 'A', 'value': 1}]}), FAILS),
        ('apply', 'one', deployment(1, container={'env': [{'name': 'A', 'value': True}, {'name': 'A'}]}), FAILS),
        ('apply', 'one', deployment(1, container={'ports': [{'containerPort': 80}, {'containerPort': 80, 'protocol': 'TCP'}]}), FAILS),
        ('apply', 'one', deployment(1, container={'ports': [{'containerPort': 'x'}]}), FAILS),
        ('apply', 'one', deployment(1, container={'ports': [{'name': 'x'}], 'command': 'x'}), FAILS),
        ('apply', 'one', deployment(1, container={'command': ['x', 1]}), FAILS),
        ('apply', 'one', deployment(1, containers=[{'image': 'x'}, {'image': 'y'}]), FAILS),
        ('apply', 'one', deployment(1, containers=['x']), FAILS),
        ('apply', 'one', deployment(1, affinity={'nope': 1}), FAILS),
        ('apply', 'one', {'spec': {'template': 1, 'selector': 'x'}}, FAILS),
    ]),
    'node': ('Node', [
        ('create', 'kubelet', {'metadata': {'labels': {'a': 'b'}}, 'spec': {'podCIDR': '10.0.0.0/24', 'podCIDRs': ['10.0.0.0/24']}, 'status': {'capacity': {'cpu': '4'}}}),
        ('strategic', 'kubelet', {'status': {'capacity': {'cpu': '4', 'memory': '8Gi'}, 'conditions': [{'type': 'Ready', 'status': 'True', 'lastHeartbeatTime': '2026-01-01T00:00:00Z', 'lastTransitionTime': '2026-01-01T00:00:00Z', 'reason': 'R', 'message': 'M'}], 'addresses': [{'type': 'InternalIP', 'address': '10.0.0.1'}], 'images': [{'names': ['x'], 'sizeBytes': 1}]}}, STATUS),
        ('strategic', 'kubelet', {'status': {'conditions': [{'type': 'Ready', 'lastHeartbeatTime': '2026-01-01T00:01:00Z'}]}}, STATUS),
        ('merge', 'controller', {'spec': {'taints': [{'key': 'k', 'effect': 'NoSchedule'}]}}),
        ('apply', 'ssa', {'metadata': {'labels': {'c': 'd'}}, 'spec': {'taints': [{'key': 'k2', 'effect': 'NoExecute'}], 'unschedulable': True}}, FAILS),
        ('apply', 'ssa', {'metadata': {'labels': {'c': 'd'}}, 'spec': {'taints': [{'key': 'k2', 'effect': 'NoExecute'}], 'unschedulable': True}}, FORCE),
        ('apply', 'ssa', {'metadata': {'labels': {'c': 'e'}}}),
        ('merge', 'csi', {'status': {'volumesAttached': [{'name': 'v', 'devicePath': ''}], 'volumesInUse': ['v']}}, STATUS),
    ]),
    'reset': ('ConfigMap', [
        ('create', 'creator', {'metadata': {'labels': {'a': 'b'}}, 'data': {'a': '1'}}),
        ('merge', 'resetter', {'metadata': {'managedFields': [{}]}}),
        ('merge', 'updater', {'data': {'b': '2'}}),
        ('apply', 'one', {'data': {'b': '2', 'c': '3'}}),
        ('merge', 'resetter', {'metadata': {'managedFields': []}, 'data': {'d': '4'}}),
        ('apply', 'one', {'data': {'b': '3'}}, FAILS),
        ('apply', 'one', {'data': {'e': '3'}}),
    ]),
    'sent-managers': ('ConfigMap', [
        ('create', 'creator', {'data': {'a': '1'}, 'metadata': {'managedFields': [{'manager': 'fake', 'operation': 'Apply', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:a': {}}}}]}}),
        ('merge', 'm', {'data': {'b': '1'}, 'metadata': {'managedFields': [{'manager': 'own', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:a': {}, 'f:zzz': {}}}}, {'manager': 'gone', 'operation': 'Update', 'apiVersion': 'v7', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:a': {}}}}]}}),
        ('merge', 'm', {'data': {'b': '2'}, 'metadata': {'managedFields': [{'manager': 'bad', 'operation': 'Replace', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1', 'fieldsV1': {}}]}}),
        ('put', 'm', changed(data__c='3', metadata__managedFields=None)),
    ]),
    'many-updaters': ('ConfigMap', [
        ('create', 'creator', {'data': {'a': '1'}}),
        *[('merge', 'upd%02d' % i, {'data': {'k%d' % i: str(i)}}) for i in range(12)],
        ('apply', 'ssa', {'data': {'k0': '0', 'k5': 'x'}}, FAILS),
    ]),
    'statefulset': ('StatefulSet', [
        ('create', 'creator', {'spec': {'serviceName': 's', 'replicas': 1, 'selector': {'matchLabels': {'app': 'a'}}, 'template': template(), 'volumeClaimTemplates': [{'metadata': {'name': 'd'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}]}}),
        ('apply', 'ssa', {'spec': {'replicas': 1, 'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 1}}}}, FAILS),
        ('apply', 'ssa', {'spec': {'replicas': 1, 'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 1}}}}, FORCE),
        ('apply', 'ssa', {'spec': {'replicas': 1}}),
        ('merge', 'controller', {'status': {'replicas': 1, 'currentRevision': 'r'}}, STATUS),
    ]),
    'statefulset-apply': ('StatefulSet', [
        ('apply', 'ssa', {'spec': {'serviceName': 's', 'replicas': 1, 'selector': {'matchLabels': {'app': 'a'}}, 'template': template(), 'volumeClaimTemplates': [{'metadata': {'name': 'd'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}]}}),
        ('apply', 'ssa', {'spec': {'serviceName': 's', 'replicas': 2, 'selector': {'matchLabels': {'app': 'a'}}, 'template': template(), 'volumeClaimTemplates': [{'metadata': {'name': 'd'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}]}}),
    ]),
    'daemonset': ('DaemonSet', [
        ('create', 'creator', {'spec': {'selector': {'matchLabels': {'app': 'a'}}, 'template': template()}}),
        ('put', 'putter', changed(spec__minReadySeconds=5, spec__template__spec__nodeSelector={'a': 'b'}, metadata__managedFields=None)),
        ('put', 'putter', changed(spec__template__spec__nodeSelector=None)),
        ('apply', 'ssa', {'spec': {'minReadySeconds': 5, 'template': {'spec': {'nodeSelector': {'c': 'd'}}}}}),
        ('apply', 'ssa', {'spec': {'minReadySeconds': 5}}),
    ]),
    'job': ('Job', [
        ('create', 'creator', {'spec': {'template': {'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'c', 'image': 'i'}]}}, 'backoffLimit': 2}}),
        ('apply', 'ssa', {'spec': {'parallelism': 3, 'backoffLimit': 2}}, FAILS),
        ('apply', 'ssa', {'spec': {'parallelism': 3}}, FORCE),
    ]),
    'class': ('StorageClass', [
        ('create', 'creator', {'provisioner': 'p', 'parameters': {'a': 'b'}, 'allowedTopologies': [{'matchLabelExpressions': [{'key': 'k', 'values': ['v']}]}], 'mountOptions': ['ro']}),
        ('apply', 'ssa', {'provisioner': 'p', 'allowVolumeExpansion': True, 'metadata': {'annotations': {'storageclass.kubernetes.io/is-default-class': 'false'}}}),
        ('apply', 'ssa', {'provisioner': 'p'}),
    ]),
    'csinode': ('CSINode', [
        ('create', 'kubelet', {'spec': {'drivers': [{'name': 'a', 'nodeID': 'n', 'topologyKeys': ['t'], 'allocatable': {'count': 3}}]}}),
        ('merge', 'kubelet', {'spec': {'drivers': [{'name': 'a', 'nodeID': 'n', 'topologyKeys': ['t'], 'allocatable': {'count': 3}}, {'name': 'b', 'nodeID': 'n', 'topologyKeys': None}]}}),
        ('apply', 'ssa', {'spec': {'drivers': [{'name': 'c', 'nodeID': 'n'}]}}),
        ('apply', 'ssa', {'spec': {'drivers': []}}),
    ]),
    'attachment': ('VolumeAttachment', [
        ('create', 'attacher', {'spec': {'attacher': 'a', 'nodeName': 'n', 'source': {'persistentVolumeName': 'v'}}}),
        ('merge', 'csi', {'metadata': {'labels': {'x': 'y'}}, 'status': {'attached': True, 'attachmentMetadata': {'a': 'b'}}}, STATUS),
        ('apply', 'csi', {'metadata': {'labels': {'x': 'y'}}, 'status': {'attached': True}}, STATUS),
    ]),
    'budget': ('PodDisruptionBudget', [
        ('apply', 'one', {'spec': {'minAvailable': 1, 'selector': {'matchLabels': {'a': 'b'}}}}),
        ('apply', 'two', {'spec': {'minAvailable': '50%', 'selector': {'matchLabels': {'a': 'c'}}}}, FAILS),
        ('merge', 'dc', {'status': {'currentHealthy': 1, 'desiredHealthy': 1, 'expectedPods': 1, 'disruptionsAllowed': 0, 'conditions': [{'type': 'DisruptionAllowed', 'status': 'False', 'reason': 'r', 'message': '', 'lastTransitionTime': '2026-01-01T00:00:00Z'}]}}, STATUS),
        ('apply', 'one', {'spec': {'maxUnavailable': 1, 'selector': {'matchLabels': {'a': 'b'}}}}),
    ]),
    'role': ('ClusterRole', [
        ('apply', 'one', {'rules': [{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['get']}]}),
        ('apply', 'two', {'rules': [{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list']}]}, FAILS),
        ('apply', 'two', {'aggregationRule': {'clusterRoleSelectors': [{'matchLabels': {'a': 'b'}}]}}),
        ('apply', 'one', {}),
    ]),
    'lease': ('Lease', [
        ('create', 'leader', {'spec': {'holderIdentity': 'h', 'leaseDurationSeconds': 15, 'renewTime': '2026-01-01T00:00:00.000000Z'}}),
        ('put', 'leader', changed(spec__renewTime='2026-01-01T00:00:01.000000Z')),
        ('put', 'leader', changed(spec__holderIdentity='', spec__renewTime=None)),
    ]),
    'ingress': ('Ingress', [
        ('apply', 'one', {'spec': {'rules': [{'host': 'h', 'http': {'paths': [{'path': '/', 'pathType': 'Prefix', 'backend': {'service': {'name': 's', 'port': {'number': 80}}}}]}}]}}),
        ('merge', 'ic', {'status': {'loadBalancer': {'ingress': [{'ip': '1.1.1.1'}]}}}, STATUS),
        ('apply', 'one', {'spec': {'defaultBackend': {'service': {'name': 's', 'port': {'name': 'x'}}}}}),
    ]),
    'account': ('ServiceAccount', [
        ('create', 'creator', {'secrets': [{'name': 'a'}], 'imagePullSecrets': [{'name': 'b'}]}),
        ('apply', 'one', {'secrets': [{'name': 'c'}], 'imagePullSecrets': [{'name': 'd'}]}, FAILS),
        ('apply', 'one', {'secrets': [{'name': 'c'}], 'imagePullSecrets': [{'name': 'd'}]}, FORCE),
        ('apply', 'one', {'automountServiceAccountToken': False}),
    ]),
    'custom': ('Thing', [
        ('create', 'creator', {'spec': {'any': {'a': {'b': 1}, 'l': [1, 2]}, 'open': {'known': 'x', 'other': {'y': [1]}}, 'set': ['a', 'b'], 'keyed': [{'id': 1, 'v': 'x'}, {'id': 2, 'zone': 'q'}], 'plain': ['x'], 'whole': {'a': 'b'}, 'map': {'m': 1}, 'size': 1}, 'status': {'phase': 'x'}}),
        ('merge', 'upd', {'spec': {'any': {'a': 5}, 'set': ['b', 'c'], 'keyed': [{'id': 2, 'zone': 'q', 'v': 'y'}], 'size': '50%'}}),
        ('apply', 'one', {'spec': {'any': {'a': {'c': 1}, 'n': {}}, 'open': {'other': {'z': 1}}, 'keyed': [{'id': 2, 'zone': 'q', 'v': 'z'}]}}, FAILS),
        ('apply', 'one', {'spec': {'any': {'a': {'c': 1}, 'n': {}}, 'open': {'other': {'z': 1}}, 'keyed': [{'id': 2, 'zone': 'q', 'v': 'z'}, {'id': 3}]}}, FORCE),
        ('apply', 'one', {'spec': {'any': {'n': {'k': None}}, 'set': ['d', 'b'], 'keyed': [{'id': 3, 'zone': 'z'}, {'id': 3, 'zone': 'y'}], 'map': {'m': 1, 'n': 2}}}),
        ('apply', 'one', {'spec': {'set': ['d', 'd']}}, FAILS),
        ('apply', 'one', {'spec': {'nope': 1}}, FAILS),
        ('apply', 'one', {'spec': {'open': {'known': 1, 'any': 1}}}, FAILS),
        ('apply', 'one', {'spec': {'map': {'m': 'x'}}}, FAILS),
        ('apply', 'one', {'spec': {'whole': {'x': 'y'}}, 'status': {'phase': 'y'}}, FORCE),
        ('merge', 'ctl', {'status': {'phase': 'done'}, 'metadata': {'labels': {'a': 'b'}}, 'spec': {'size': 9}}, STATUS),
        ('apply', 'ctl', {'status': {'phase': 'done'}, 'metadata': {'labels': {'a': 'b'}, 'finalizers': ['a.b/c']}}, STATUS),
        ('merge', 'upd', {'spec': None}),
    ]),
    'custom-apply': ('Thing', [
        ('apply', 'one', {'metadata': {'labels': {'a': 'b'}, 'finalizers': []}, 'spec': {'any': [1], 'open': {}, 'set': [], 'map': {}, 'keyed': [{'id': 1}]}}),
        ('apply', 'one', {'metadata': {'labels': {'a': 'b'}}, 'spec': {'any': 'x', 'open': {'a': {}}, 'keyed': [{'id': 1, 'zone': 'z'}]}}),
        ('apply', 'two', {'spec': {'any': {'x': 1}}}, FAILS),
        ('apply', 'two', {'spec': {'any': {'x': 1}}}, FORCE),
        ('apply', 'two', {}),
        ('apply', 'one', {}),
    ]),
    'crd': ('CustomResourceDefinition', [
        ('apply', 'one', {'spec': {'group': 'crd.example.com', 'scope': 'Namespaced', 'names': {'plural': 'things', 'kind': 'Thing'}, 'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object', 'properties': {'spec': {'type': 'object', 'default': {'a': {'b': 1}, 'c': [1]}, 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'e': {'type': 'string', 'enum': ['x', 'y'], 'default': 'x'}}}}}}}]}}),
        ('apply', 'one', {'spec': {'group': 'crd.example.com', 'scope': 'Namespaced', 'names': {'plural': 'things', 'kind': 'Thing', 'shortNames': ['th']}, 'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object', 'properties': {'spec': {'type': 'object', 'default': {'a': {'b': 2}}, 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'e': {'type': 'string', 'enum': ['x'], 'default': 'x'}}}}}}}]}}),
        ('merge', 'upd', {'metadata': {'labels': {'a': 'b'}}}),
    ]),
}

if __name__ == '__main__':
    if not sys.argv[3:] or any(n.startswith('custom') for n in sys.argv[3:]):
        define_thing()
    for name in sys.argv[3:] or CASES:
        run(name, *CASES[name])
