//! The documented behavior of the example operators on a real cluster: this repository's watches.yaml and
//! roles, with the CRDs and permissions of `deploy/`. One operator process runs them all.

pub(crate) mod example;
mod experimental;
mod memcached;
mod minimart;
mod myownshell;
mod permissions;
mod podset;
mod ptemplate;
mod release;

use libtest_mimic::Trial;

pub(crate) fn tests() -> Vec<Trial> {
    [
        memcached::tests(),
        myownshell::tests(),
        ptemplate::tests(),
        minimart::tests(),
        experimental::tests(),
        podset::tests(),
        release::tests(),
        permissions::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
