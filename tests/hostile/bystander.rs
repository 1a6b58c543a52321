//! Measures how fast the operator follows changes of a harmless custom resource, with and without attacks
//! through other custom resources.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use parking_lot::Mutex;
use rhai_operator::clock;
use serde_json::json;

use super::api::Api;
use super::cases::Kind;
use super::cluster::in_namespace;

/// The interval between two reads. It is much shorter than the time of one change.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The time after which a change counts as lost.
const NEVER: Duration = Duration::from_mins(1);
/// The ratio between the two.
const RATIO: u32 = 2;
/// Runs of roles that use up their timeout hold both slots of a test's operator, and a build without
/// optimization shares two cores with compilers: there, attacked changes took up to 1.1 s more than twice the
/// time of others.
const SLACK: Duration = Duration::from_secs(2);
/// The minimum number of measured times for a percentile.
const ENOUGH: usize = 20;

/// The measured times.
#[derive(Clone, Default)]
pub(crate) struct Bystander {
    attacked: Arc<AtomicBool>,
    times: Arc<Mutex<ResponseTimes>>,
}

#[derive(Default)]
struct ResponseTimes {
    quiet: Vec<Duration>,
    attacked: Vec<Duration>,
}

impl Bystander {
    /// Says which of the two is measured from now on.
    pub(crate) fn attack(&self, attacked: bool) {
        self.attacked.store(attacked, Ordering::SeqCst);
    }

    /// Changes a widget again and again, and sees that its object follows. Ends with an error only.
    pub(crate) async fn change(
        self,
        api: Api,
        widget: Kind,
        namespace: String,
    ) -> anyhow::Result<()> {
        let group_version = format!("apis/{}/{}", widget.group, widget.version);
        let widgets = in_namespace(&group_version, &widget.plural, &namespace);
        let maps = in_namespace("api/v1", "configmaps", &namespace);
        let mut object = widget.sample;
        object["metadata"]["name"] = "bystander".into();
        api.ensure(&widgets, &object).await?;
        for number in 0_u64.. {
            let was = self.attacked.load(Ordering::SeqCst);
            let text = number.to_string();
            let begun = clock::now();
            let patch = json!({"spec": {"text": text}});
            let changed = api.merge(&format!("{widgets}/bystander"), &patch).await?;
            ensure!(changed, "the bystander cannot be changed");
            while api
                .get(&format!("{maps}/bystander"))
                .await?
                .and_then(|map| map.data("text"))
                != Some(text.clone())
            {
                let waited = begun.elapsed();
                ensure!(
                    waited < NEVER,
                    "the bystander is not reconciled for {waited:?}"
                );
                clock::sleep(POLL_INTERVAL).await;
            }
            // A change on the border between the two belongs to neither.
            if was == self.attacked.load(Ordering::SeqCst) {
                let mut times = self.times.lock();
                let times = if was {
                    &mut times.attacked
                } else {
                    &mut times.quiet
                };
                times.push(begun.elapsed());
            }
        }
        Ok(())
    }

    /// The error says that the attack slowed others down.
    pub(crate) fn evaluate(&self) -> Result<String, String> {
        let mut times = self.times.lock();
        let counts = (times.quiet.len(), times.attacked.len());
        let (quiet, attacked) = (p99(&mut times.quiet), p99(&mut times.attacked));
        let told = format!(
            "the bystander's p99: {quiet:?} of {} changes without hostile custom resources, {attacked:?} of {} beside them",
            counts.0, counts.1,
        );
        if counts.0.min(counts.1) >= ENOUGH && attacked > RATIO * quiet + SLACK {
            return Err(told);
        }
        Ok(told)
    }
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort();
    let at = (times.len() * 99).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}
