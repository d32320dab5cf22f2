//! An object that is written back: a replacement must not lose the fields that its slim form leaves out.

use plimsoll_api::kinds::ObjectMeta;
use serde_json::Value;

use crate::mirror::Mirrored;
use crate::outline;
use crate::resource::Resource;

/// A slim object together with the JSON it was read from, for kinds that are written back.
///
/// Who owns which field (`metadata.managedFields`) is left out: it is as long as all the rest, and the API server takes a
/// replacement without it as one that leaves it alone.
#[derive(Clone, Debug)]
pub struct Whole<T> {
    /// What is read of it.
    pub slim: T,
    text: Box<str>,
}

impl<T: Mirrored> Mirrored for Whole<T> {
    const RESOURCE: Resource = T::RESOURCE;

    fn read(text: &str) -> Result<Self, serde_json::Error> {
        let text = without_owners(text);
        // What is cut out is half of the text, and need not be read again.
        Ok(Self { slim: T::read(&text)?, text })
    }

    fn meta(&self) -> &ObjectMeta {
        self.slim.meta()
    }
}

impl<T> Whole<T> {
    /// The whole object, to be changed and sent back.
    pub fn value(&self) -> Value {
        // It was read once already, so that it is JSON is known.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// An object's JSON without its `metadata.managedFields`: cut out of the text, since to read it all and write it again costs
/// several times as much.
fn without_owners(text: &str) -> Box<str> {
    cut(text).unwrap_or_else(|| text.into())
}

fn cut(text: &str) -> Option<Box<str>> {
    let list = outline::owners(text)?;
    // It is a part of the text: where it begins there is how far apart they begin.
    let start = (list.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let before =
        text.get(..start)?.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"managedFields\"")?.trim_end();
    let after = text.get(start + list.len()..)?.trim_start();
    let (before, after) = match before.strip_suffix(',') {
        Some(before) => (before, after),
        None => (before, after.strip_prefix(',').unwrap_or(after)),
    };
    Some([before, after].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_cut_out_wherever_they_stand() {
        for (text, rest) in [
            (
                r#"{"metadata":{"name":"a","managedFields":[{"x":"}]"}],"uid":"u"},"spec":{}}"#,
                r#"{"metadata":{"name":"a","uid":"u"},"spec":{}}"#,
            ),
            (r#"{"metadata":{"managedFields":[1],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"name":"a","managedFields":[1]}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata" : { "managedFields" : [ 1 ] } , "kind":"Pod"}"#, r#"{"metadata" : {} , "kind":"Pod"}"#),
            (
                r#"{"metadata":{"name":"a"},"spec":{"managedFields":[1]}}"#,
                r#"{"metadata":{"name":"a"},"spec":{"managedFields":[1]}}"#,
            ),
            (
                r#"{"metadata":{"annotations":{"managedFields":"x"},"managedFields":null}}"#,
                r#"{"metadata":{"annotations":{"managedFields":"x"}}}"#,
            ),
            (r#"{"metadata":{"name":"\"managedFields\":[1]"}}"#, r#"{"metadata":{"name":"\"managedFields\":[1]"}}"#),
            // Written otherwise than any server writes it: it stays, which harms nobody.
            (r#"{"metadata":{"managed\u0046ields":[1]}}"#, r#"{"metadata":{"managed\u0046ields":[1]}}"#),
        ] {
            let found = without_owners(text);
            assert_eq!(&*found, rest);
            assert!(serde_json::from_str::<Value>(&found).is_ok(), "{found}");
        }
    }
}
