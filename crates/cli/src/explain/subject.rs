//! What is to be explained: a pod, every pod that waits, or a code.

use crate::failure::Failure;

/// What the user asked about.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject {
    /// A code such as `PL012`, as written.
    Code(String),
    /// A pod; without a namespace it is in the default one.
    Pod { namespace: Option<String>, name: String },
    /// Every pod that has no node, in one namespace or in all.
    Waiting { namespace: Option<String> },
}

/// How kubectl lets one write the kind.
const POD_WORDS: [&str; 3] = ["pod", "pods", "po"];
impl Subject {
    /// Reads the words of the command line and `--namespace`.
    pub fn parse(words: &[String], namespace: Option<&str>) -> Result<Self, Failure> {
        let is_pod_word = |word: &str| POD_WORDS.contains(&word);
        match words {
            [] => Ok(Self::Waiting { namespace: namespace.map(str::to_owned) }),
            [word] if is_pod_word(word) => Ok(Self::Waiting { namespace: namespace.map(str::to_owned) }),
            [word] if is_code(word) => Ok(Self::Code(word.clone())),
            [word] => match word.split_once('/') {
                Some((kind, name)) if is_pod_word(kind) => Self::pod(name, namespace),
                _ => Self::pod(word, namespace),
            },
            [kind, name] if is_pod_word(kind) => Self::pod(name, namespace),
            [kind, name, ..] => Err(only_pods(kind, name)),
        }
    }

    fn pod(text: &str, namespace: Option<&str>) -> Result<Self, Failure> {
        let help = "write the pod as NAME, NAMESPACE/NAME, pod NAME or pod/NAME";
        let (own, name) = match text.split_once('/') {
            Some((own, name)) => (Some(own), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || own.is_some_and(str::is_empty) {
            return Err(Failure::usage(format!("{text:?} does not name a pod")).help(help));
        }
        if let (Some(own), Some(asked)) = (own, namespace)
            && own != asked
        {
            return Err(Failure::usage(format!("{text} is in namespace {own}, but --namespace says {asked}"))
                .help("leave one of them out"));
        }
        Ok(Self::Pod { namespace: own.or(namespace).map(str::to_owned), name: name.to_owned() })
    }
}

fn only_pods(kind: &str, name: &str) -> Failure {
    Failure::usage(format!("cannot explain {kind} {name}: only pods are placed"))
        .help("write the pod as NAME, NAMESPACE/NAME, pod NAME or pod/NAME; `kubectl get pods` lists them")
}

/// Whether this looks like a code, known or not. A pod that is called like one can be written as `pod/pl012`.
fn is_code(word: &str) -> bool {
    let prefix = word.get(..2).is_some_and(|p| p.eq_ignore_ascii_case("PL"));
    let digits = word.get(2..).unwrap_or_default();
    prefix && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::Subject;

    fn parse(words: &str, namespace: Option<&str>) -> Result<Subject, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Subject::parse(&words, namespace).map_err(|f| f.problems()[0].clone())
    }

    fn pod(namespace: Option<&str>, name: &str) -> Result<Subject, String> {
        Ok(Subject::Pod { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }

    #[test]
    fn pods_can_be_written_as_for_kubectl() {
        assert_eq!(parse("web-0", None), pod(None, "web-0"));
        assert_eq!(parse("shop/web-0", None), pod(Some("shop"), "web-0"));
        assert_eq!(parse("pod web-0", Some("shop")), pod(Some("shop"), "web-0"));
        assert_eq!(parse("pod/web-0", Some("shop")), pod(Some("shop"), "web-0"));
        assert_eq!(parse("pods shop/web-0", Some("shop")), pod(Some("shop"), "web-0"));
        assert_eq!(parse("pod/pl012", None), pod(None, "pl012"));
        assert_eq!(parse("plain-0", None), pod(None, "plain-0"));
    }

    #[test]
    fn no_name_means_every_pod_that_waits() {
        assert_eq!(parse("", None), Ok(Subject::Waiting { namespace: None }));
        assert_eq!(parse("pods", Some("a")), Ok(Subject::Waiting { namespace: Some("a".to_owned()) }));
    }

    #[test]
    fn codes_are_told_from_pods() {
        assert_eq!(parse("PL012", None), Ok(Subject::Code("PL012".to_owned())));
        assert_eq!(parse("pl12", None), Ok(Subject::Code("pl12".to_owned())));
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(
            parse("shop/web-0", Some("x")),
            Err("shop/web-0 is in namespace shop, but --namespace says x".into())
        );
        assert_eq!(parse("a/b/c", None), Err("\"a/b/c\" does not name a pod".into()));
        assert_eq!(parse("shop/", None), Err("\"shop/\" does not name a pod".into()));
        assert_eq!(parse("node n1", None), Err("cannot explain node n1: only pods are placed".into()));
    }
}
