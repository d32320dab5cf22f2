//! The controllers of volumes and claims: binding, provisioners, zone labels, protection, ephemeral claims, rescue.
