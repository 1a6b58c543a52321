//! Leader election by a Lease: of several replicas one works.
