//! The numbered statements about the scheduler, each a named test: SB-1 to SB-50 (its part in binding volumes) and OF-1 to OF-32 (the
//! other filters of volumes).
//!
//! `scheduling_statements!` makes the tests of one suite from a function that returns its outcomes, as
//! [`crate::volumes::statements`] does for the controllers. The scenarios are in `tests/scheduling`. What cannot be brought about from
//! outside is proved where the inside is at hand, and the test here holds that such a test exists:
//!
//! - SB-11 (a bound claim's volume is not there): VolumeZone refuses the whole pod for the same cause before VolumeBinding is asked, so no
//!   pod ever says it. The scenario `bound-to-nothing` shows what is said instead.
//! - SB-26 (scores of nothing to bind): upstream scores by default since 1.37 (UP-1); with the gate off nothing can be seen.
//! - SB-29, SB-31, SB-45 and SB-49 are about what one process has heard in the middle of one decision, which no client of a server can
//!   choose; so is SB-33, for which the second of two volumes has to change between the plan and its write.
//! - The halves of SB-43 and OF-31 that say what does *not* bring a pod back leave nothing to see; the tests of the same names in
//!   crates/engine show them.
//! - Of the other filters the scenarios show what a pod's condition says of each plugin, and that a place that is freed is taken; the
//!   arithmetic is the engine's, and proved there.

/// How many statements there are about binding.
pub const BINDING: usize = 50;
/// How many there are about the other filters.
pub const FILTERS: usize = 32;

/// The tests of one suite; the argument is a function that returns `&'static Outcomes`.
#[macro_export]
macro_rules! scheduling_statements {
    ($outcomes:path) => {
        mod binding {
            $crate::statement_tests! { $outcomes; "SB-", $crate::scheduling::BINDING;
                1 sb_1_a_pod_without_claims_writes_nothing;
                2 sb_2_a_missing_claim_is_told_by_name;
                3 sb_3_the_claim_of_an_ephemeral_volume_is_waited_for;
                4 sb_4_the_claim_of_an_ephemeral_volume_must_be_the_pods;
                5 sb_5_a_lost_claim_is_told_so;
                6 sb_6_a_claim_that_goes_takes_no_pod;
                7 sb_7_an_unbound_immediate_claim_keeps_its_pod_back;
                8 sb_8_a_half_bound_claim_counts_as_immediate;
                9 sb_9_a_claim_without_its_class_counts_as_immediate;
                10 sb_10_a_bound_volume_out_of_reach_is_one_reason;
                12 sb_12_reasons_of_bound_and_unbound_claims_come_together;
                13 sb_13_a_claim_selected_elsewhere_gives_one_reason;
                14 sb_14_space_at_the_selected_node_is_asked_again;
                15 sb_15_a_selected_claim_is_provisioned_though_volumes_are_free;
                16 sb_16_no_volume_and_no_provisioner;
                17 sb_17_a_place_that_is_not_allowed_is_no_want_of_space;
                18 sb_18_one_claim_bound_and_one_provisioned;
                19 sb_19_drivers_without_published_space_are_not_asked;
                20 sb_20_no_pool_is_no_space;
                21 sb_21_the_largest_volume_counts_before_the_space;
                22 sb_22_a_pool_that_says_nothing_is_not_usable;
                23 sb_23_a_pools_namespace_means_nothing_and_its_class_all;
                24 sb_24_no_topology_is_nowhere_and_an_empty_one_everywhere;
                25 sb_25_two_claims_on_one_pool;
                27 sb_27_the_emptier_pool_scores_higher;
                28 sb_28_a_static_binding_hides_what_is_provisioned;
                30 sb_30_what_one_pod_was_given_the_next_does_not_get;
                32 sb_32_what_is_written;
                34 sb_34_a_provisioner_that_gives_up_brings_the_pod_back;
                35 sb_35_a_claim_without_any_annotation_was_reset;
                36 sb_36_a_volume_that_is_not_seen_yet_is_waited_for;
                37 sb_37_a_volume_made_out_of_reach_fails;
                38 sb_38_a_pod_that_goes_ends_the_wait;
                39 sb_39_a_node_that_goes_ends_the_wait;
                40 sb_40_without_time_all_is_written_and_nothing_waited_for;
                41 sb_41_after_a_timeout_only_the_same_node_will_do;
                42 sb_42_a_static_binding_that_is_not_completed_beside_a_failed_provisioning;
                43 sb_43_a_pool_that_grows_brings_the_pod_back;
                44 sb_44_a_new_volume_brings_the_pod_back;
                46 sb_46_affinity_is_read_under_the_drivers_key;
                47 sb_47_reasons_are_counted;
                48 sb_48_an_empty_selected_node_is_refused_everywhere;
                50 sb_50_a_pod_that_gives_way_while_it_waits_leaves_the_annotation;
                ;
                11 sb_11_a_bound_volume_that_does_not_exist;
                26 sb_26_nothing_to_bind_scores_nothing;
                29 sb_29_a_plan_from_an_older_version_is_an_error;
                31 sb_31_a_newer_version_drops_the_assumption;
                33 sb_33_a_refused_write_ends_it_before_any_claim_is_written;
                45 sb_45_claims_that_became_bound_meanwhile_need_no_write;
                49 sb_49_a_class_that_goes_in_the_middle;
            }
        }
        mod filters {
            $crate::statement_tests! { $outcomes; "OF-", $crate::scheduling::FILTERS;
                1 of_1_another_zone_is_refused;
                10 of_10_one_volume_more_than_the_limit;
                23 of_23_a_pod_that_goes_leaves_its_place;
                24 of_24_a_claim_for_one_pod_is_in_use;
                ;
                2 of_2; 3 of_3; 4 of_4; 5 of_5; 6 of_6; 7 of_7; 8 of_8; 9 of_9; 11 of_11; 12 of_12; 13 of_13; 14 of_14;
                15 of_15; 16 of_16; 17 of_17; 18 of_18; 19 of_19; 20 of_20; 21 of_21; 22 of_22; 25 of_25; 26 of_26;
                27 of_27; 28 of_28; 29 of_29; 30 of_30; 31 of_31; 32 of_32;
            }
        }
    };
}
