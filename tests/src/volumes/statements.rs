//! The numbered statements of the specification of the volume controllers (PC-1 to PC-40), each a named test.
//!
//! `volume_statements!` makes the tests of one suite from a function that returns its outcomes. Most look at the scenarios that cite
//! the statement; all scenarios are played once, side by side, for all of them. What cannot be brought about from outside is proved
//! where the inside is at hand, and the test here holds that such a test exists:
//!
//! - PC-19 (the cache misses a claim that the server has) and PC-31 (an older version comes late from a watch) are about the order in
//!   which one process hears of things, which no client of a server can choose.
//! - PC-26 (an in-tree provisioner fails): the one such plugin that kube-controller-manager still has cannot be made to fail after it
//!   was started.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// How many statements there are.
pub const COUNT: usize = 40;

/// Holds that a test of a statement exists in the crates, for those that cannot be shown from outside.
pub fn shown_inside(statement: &str) -> Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no workspace")?.join("crates");
    let wanted = format!("fn {}_", statement.to_lowercase().replace('-', "_"));
    let mut folders = vec![crates];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && std::fs::read_to_string(&path)?.contains(&wanted)
            {
                return Ok(());
            }
        }
    }
    bail!("{statement} cannot be shown from outside, and no test in crates/ begins with {wanted}")
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The tests of one suite; the argument is a function that returns `&'static Outcomes`.
#[macro_export]
macro_rules! volume_statements {
    ($outcomes:path) => {
        $crate::statement_tests! { $outcomes; "PC-", $crate::volumes::statements::COUNT;
            1 pc_1_an_immediate_claim_and_an_available_volume_are_bound;
            2 pc_2_a_binding_that_was_cut_short_is_finished;
            3 pc_3_a_delayed_claim_waits_for_its_first_consumer;
            4 pc_4_a_delayed_claim_names_the_pod_it_waits_for;
            5 pc_5_a_volume_reserved_for_a_delayed_claim_is_bound_without_a_pod;
            6 pc_6_a_delayed_claim_with_a_node_is_handed_to_its_provisioner;
            7 pc_7_without_class_default_and_volume_a_claim_waits_and_says_so;
            8 pc_8_a_default_class_that_comes_later_is_taken;
            9 pc_9_the_empty_class_never_becomes_the_default;
            10 pc_10_of_two_defaults_the_newer_one_is_taken;
            11 pc_11_a_claim_waits_silently_for_the_volume_it_names;
            12 pc_12_a_named_volume_of_another_claim_is_refused;
            13 pc_13_a_claim_is_lost_with_its_volume_and_comes_back_with_it;
            14 pc_14_a_bound_claim_without_a_volume_name_is_lost;
            15 pc_15_a_claim_whose_volume_is_anothers_is_misbound;
            16 pc_16_a_lost_claim_reference_is_restored;
            17 pc_17_a_retained_volume_stays_released;
            18 pc_18_a_csi_volume_is_left_to_its_own_deleter;
            20 pc_20_a_surplus_provisioned_volume_is_released_and_deleted;
            21 pc_21_a_volume_bound_by_the_controller_to_a_claim_bound_elsewhere_is_freed;
            22 pc_22_a_volume_reserved_by_a_user_keeps_its_reservation;
            23 pc_23_a_mode_that_differs_is_told_on_both;
            24 pc_24_no_provisioner_and_no_volume_is_told;
            25 pc_25_without_dynamic_provisioning_nothing_happens;
            27 pc_27_a_retained_volume_loses_its_deletion_finalizer;
            28 pc_28_a_bound_volume_outlives_its_deletion;
            29 pc_29_a_claim_in_use_outlives_its_deletion;
            30 pc_30_a_pod_without_a_node_does_not_hold_a_claim;
            32 pc_32_a_bound_claims_capacity_is_not_written_again;
            33 pc_33_an_empty_selected_node_counts_as_one;
            34 pc_34_a_failed_volume_stays_failed;
            35 pc_35_a_volume_reserved_by_name_is_available;
            36 pc_36_a_volume_name_is_set_once;
            37 pc_37_a_provisioned_volume_is_bound_when_it_appears;
            38 pc_38_a_migrated_class_names_its_csi_driver;
            39 pc_39_no_recycler_for_a_csi_volume;
            40 pc_40_an_ephemeral_claim_is_made_again;
            ;
            // From outside nobody chooses what a process hears when, nor makes upstream's last in-tree plugin fail half-way.
            19 pc_19_a_claim_that_only_the_cache_misses_is_not_released;
            26 pc_26_a_failed_in_tree_provision_gives_up_its_node;
            31 pc_31_an_older_version_never_replaces_an_own_write;
        }
    };
}

/// A test for each statement: of those that scenarios show, then of those that only tests inside do.
#[macro_export]
macro_rules! statement_tests {
    ($outcomes:path; $prefix:literal, $count:expr; $($number:literal $name:ident;)+ ; $($inner:literal $inner_name:ident;)+) => {
        $(#[test]
        fn $name() {
            if let Err(wrong) = $outcomes().check_statement(concat!($prefix, $number)) {
                panic!("{wrong:#}");
            }
        })+
        $(#[test]
        fn $inner_name() {
            if let Err(wrong) = $crate::volumes::statements::shown_inside(concat!($prefix, $inner)) {
                panic!("{wrong:#}");
            }
        })+
        #[test]
        fn every_statement_has_its_test() {
            let mut numbers: Vec<usize> = vec![$($number,)+ $($inner),+];
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(1..=$count));
        }
    };
}
