//! Limits the number of open connections of one server.
//!
//! A full server still accepts a new connection. It closes another one, of the peer with the most
//! connections, so that one client cannot block the others. Among the connections of that peer it
//! prefers an idle one to one with a request, and then the oldest.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

/// An open connection.
struct Connection {
    peer: IpAddr,
    activity: Activity,
    task: AbortHandle,
}

/// A flag, shared with the task of a connection: true while the connection is being answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<AtomicBool>);

/// The open connections of a server, the oldest first.
pub(super) struct Connections {
    limit: usize,
    open: Vec<Connection>,
}

impl Activity {
    /// Says that a request has arrived in full.
    pub(super) fn mark_answering(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_answering(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Connections {
    /// Keeps at most `limit` connections.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Vec::new(),
        }
    }

    /// Closes a connection if there is no room for one more.
    pub(super) fn make_room(&mut self) {
        self.open
            .retain(|connection| !connection.task.is_finished());
        if self.open.len() < self.limit {
            return;
        }
        if let Some(index) = self.least_needed() {
            self.open.remove(index).task.abort();
        }
    }

    /// Keeps a new connection.
    pub(super) fn add(&mut self, peer: IpAddr, activity: Activity, task: AbortHandle) {
        self.open.push(Connection {
            peer,
            activity,
            task,
        });
    }

    fn least_needed(&self) -> Option<usize> {
        let held_by = |peer| self.open.iter().filter(|one| one.peer == peer).count();
        let rank = |connection: &Connection| {
            let held = held_by(connection.peer);
            (Reverse(held), connection.activity.is_answering())
        };
        // The first of several equal ones: they are in the order of their age.
        let ranked = self.open.iter().enumerate();
        ranked
            .min_by_key(|(_, one)| rank(one))
            .map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a connection of a peer that never ends.
    fn open(connections: &mut Connections, peer: u8) -> (Activity, AbortHandle) {
        let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
        let activity = Activity::default();
        connections.make_room();
        connections.add(
            IpAddr::from([10, 0, 0, peer]),
            activity.clone(),
            task.clone(),
        );
        (activity, task)
    }

    async fn closed(all: &[&AbortHandle]) -> Vec<bool> {
        tokio::task::yield_now().await;
        all.iter().map(|task| task.is_finished()).collect()
    }

    #[tokio::test]
    async fn the_oldest_waiting_connection_of_the_peer_with_the_most_is_closed() {
        let mut connections = Connections::new(4);
        let (_, other) = open(&mut connections, 1);
        let (answering, first) = open(&mut connections, 2);
        let (_, second) = open(&mut connections, 2);
        let (_, third) = open(&mut connections, 2);
        answering.mark_answering();
        let all = [&other, &first, &second, &third];
        assert_eq!(closed(&all).await, [false; 4]);
        open(&mut connections, 3);
        assert_eq!(closed(&all).await, [false, false, true, false]);
        open(&mut connections, 3);
        // Two peers have two each now: the one that waits, and has waited longest.
        assert_eq!(closed(&all).await, [false, false, true, true]);
    }

    #[tokio::test]
    async fn a_connection_that_ended_makes_room() {
        let mut connections = Connections::new(1);
        let (_, first) = open(&mut connections, 1);
        first.abort();
        assert_eq!(closed(&[&first]).await, [true]);
        let (_, second) = open(&mut connections, 1);
        assert_eq!(closed(&[&second]).await, [false]);
        assert_eq!(connections.open.len(), 1);
    }

    #[tokio::test]
    async fn a_connection_that_is_answered_is_closed_where_no_other_is() {
        let mut connections = Connections::new(1);
        let (activity, first) = open(&mut connections, 1);
        activity.mark_answering();
        open(&mut connections, 2);
        assert_eq!(closed(&[&first]).await, [true]);
    }
}
