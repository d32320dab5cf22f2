//! Nobody speaks for a signer without its leave: who approves or signs a certificate request, or says which certificates a signer
//! vouches for, needs the right to do so for that signer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::auth::attributes::Attributes;
use crate::auth::escalation::only_housekeeping;
use crate::auth::identity::MASTERS;
use crate::auth::rbac::Rbac;
use crate::field::go_quoted;
use crate::pem;
use crate::status::{GroupResource, Status};
use crate::value::text;

/// The group of all that is about certificates.
pub const GROUP: &str = "certificates.k8s.io";
/// The signer of clients' certificates, by which the server knows who they are.
const OF_CLIENTS: &str = "kubernetes.io/kube-apiserver-client";

/// Whether the user of `request` may write this object of [`GROUP`]. `old` is what it replaces. It is called after validation, as
/// upstream does.
pub fn signer_check(
    rbac: &Rbac,
    request: &Attributes<'_>,
    kind: &str,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let refused = |why: String| {
        let name = text(object, &["metadata", "name"]);
        Err(Status::forbidden(GroupResource { group: GROUP, resource: request.resource }, name, &why))
    };
    let signer = |object| text(object, &["spec", "signerName"]);
    match (kind, request.subresource, old) {
        ("CertificateSigningRequest", "", None) => {
            if signer(object) != OF_CLIENTS {
                return Ok(());
            }
            let bytes = STANDARD.decode(text(object, &["spec", "request"])).unwrap_or_default();
            let asked = String::from_utf8_lossy(&bytes);
            let blocks = pem::blocks(&asked);
            let Some(block) = blocks.first().filter(|block| block.kind == "CERTIFICATE REQUEST") else {
                return refused("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST".to_owned());
            };
            // What cannot be read here, somebody else may be able to.
            let Some(organizations) = pem::organizations(&block.der) else {
                return refused("failed to parse CSR: asn1: structure error".to_owned());
            };
            if organizations.iter().any(|it| it == MASTERS) {
                return refused(format!("use of {OF_CLIENTS} signer with {MASTERS} group is not allowed"));
            }
        }
        // The signer is that of the old object: a request cannot be moved to another one by the way.
        ("CertificateSigningRequest", "approval", Some(old)) if !may(rbac, request, "approve", signer(old)) => {
            return refused(format!(
                "user not permitted to approve requests with signerName {}",
                go_quoted(signer(old))
            ));
        }
        ("CertificateSigningRequest", "status", Some(old))
            if object.get("status") != old.get("status") && !may(rbac, request, "sign", signer(old)) =>
        {
            return refused(format!("user not permitted to sign requests with signerName {}", go_quoted(signer(old))));
        }
        ("ClusterTrustBundle", "", old)
            if !signer(object).is_empty()
                && !old.is_some_and(|old| only_housekeeping(object, old))
                && !may(rbac, request, "attest", signer(object)) =>
        {
            return refused(format!("user not permitted to attest for signerName {}", go_quoted(signer(object))));
        }
        _ => {}
    }
    Ok(())
}

/// Whether the user may do this for the signer, or for all of its domain.
fn may(rbac: &Rbac, request: &Attributes<'_>, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    let all = format!("{domain}/*");
    [signer, &all]
        .iter()
        .any(|name| rbac.allows(&Attributes::resource(request.user, verb, GROUP, "*", "signers").named(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::identity::User;

    /// Jo may approve and sign for all of x.example, and attest for one signer of it.
    #[test]
    fn a_signer_is_spoken_for_by_those_who_may() {
        let mut rbac = Rbac::default();
        let rule = |verbs: &[&str], name: &str| json!({"verbs": verbs, "apiGroups": [GROUP], "resources": ["signers"], "resourceNames": [name]});
        let rules = [rule(&["approve", "sign"], "x.example/*"), rule(&["attest"], "x.example/a")];
        rbac.apply("ClusterRole", &json!({"metadata": {"name": "r"}, "rules": rules}));
        let subjects = json!([{"kind": "User", "name": "jo"}]);
        let binding =
            json!({"metadata": {"name": "r"}, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": subjects});
        rbac.apply("ClusterRoleBinding", &binding);
        let jo = User::in_groups("jo", &[]);
        let of = |signer: &str, status: Value| json!({"metadata": {"name": "o"}, "spec": {"signerName": signer}, "status": status});
        let check = |kind: &str, subresource: &str, new: &Value, old: Option<&Value>| {
            let request = Attributes { subresource, ..Attributes::resource(&jo, "update", GROUP, "v1", "things") };
            signer_check(&rbac, &request, kind, new, old).map_err(|status| status.message)
        };
        let request = "CertificateSigningRequest";
        let refused =
            |why: &str| Err(format!("things.certificates.k8s.io \"o\" is forbidden: user not permitted to {why}"));
        let (ours, theirs) = (of("x.example/b", json!({})), of("z.example/b", json!({})));
        assert_eq!(check(request, "approval", &theirs, Some(&ours)), Ok(()), "the old signer counts");
        let approve = refused("approve requests with signerName \"z.example/b\"");
        assert_eq!(check(request, "approval", &ours, Some(&theirs)), approve);
        let signed = of("z.example/b", json!({"certificate": "YQ=="}));
        assert_eq!(
            check(request, "status", &signed, Some(&theirs)),
            refused("sign requests with signerName \"z.example/b\"")
        );
        assert_eq!(check(request, "status", &theirs, Some(&theirs)), Ok(()));
        assert_eq!(check("ClusterTrustBundle", "", &of("x.example/a", json!({})), None), Ok(()));
        assert_eq!(check("ClusterTrustBundle", "", &ours, None), refused("attest for signerName \"x.example/b\""));
        assert_eq!(check("ClusterTrustBundle", "", &ours, Some(&ours)), Ok(()), "nothing changes");
    }
}
