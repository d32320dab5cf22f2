//! Selectors as the API writes them.

use plimsoll_engine::selector::{LabelSelector, NodeSelector, PreferredTerm, RawRequirement, SelectorError};

use crate::interner::Interner;
use crate::lenient::{Pairs, slim};

slim! {
    /// A label selector.
    pub struct RawLabelSelector {
        /// Labels that must have these values.
        pub match_labels: Pairs,
        /// Further requirements.
        pub match_expressions: Vec<Expression>,
    }

    /// One requirement of a selector.
    pub struct Expression {
        /// The label or field.
        pub key: String,
        /// The operator.
        pub operator: String,
        /// The values.
        pub values: Vec<String>,
    }

    /// A node selector: one of the terms must match.
    pub struct RawNodeSelector {
        /// The terms.
        pub node_selector_terms: Vec<RawNodeTerm>,
    }

    /// A term of a node selector.
    pub struct RawNodeTerm {
        /// Requirements on labels.
        pub match_expressions: Vec<Expression>,
        /// Requirements on fields.
        pub match_fields: Vec<Expression>,
    }
}

fn raw(expressions: &[Expression], names: &mut Interner) -> Vec<RawRequirement> {
    expressions
        .iter()
        .map(|e| RawRequirement {
            key: names.share(&e.key),
            operator: names.share(&e.operator),
            values: names.share_all(&e.values),
        })
        .collect()
}

impl RawLabelSelector {
    /// Compiles it. One that is invalid stays so: which rule it fails is for the rules to say.
    pub fn compile(&self, names: &mut Interner) -> Result<LabelSelector, SelectorError> {
        LabelSelector::compile(&self.match_labels.to_pairs(names), &raw(&self.match_expressions, names))
    }
}

impl RawNodeTerm {
    fn raw(&self, names: &mut Interner) -> (Vec<RawRequirement>, Vec<RawRequirement>) {
        (raw(&self.match_expressions, names), raw(&self.match_fields, names))
    }

    /// Compiles the term at `index` of a pod's preferences.
    pub fn compile_preferred(&self, index: usize, weight: i32, names: &mut Interner) -> PreferredTerm {
        let (expressions, fields) = self.raw(names);
        PreferredTerm::compile(index, weight, &expressions, &fields)
    }
}

impl RawNodeSelector {
    /// Compiles it.
    pub fn compile(&self, names: &mut Interner) -> NodeSelector {
        let terms: Vec<_> = self.node_selector_terms.iter().map(|t| t.raw(names)).collect();
        NodeSelector::compile(&terms)
    }
}
