//! Catches the messages of panics in host functions, for the error of the run instead of stderr.

use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook once. It stores the panics of threads that run a script, and passes others to the
/// previous hook.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                MESSAGE.set(Some(message(info)));
            } else {
                others(info);
            }
        }));
    });
}

/// Runs `body`, and stores the message of a panic.
pub(super) fn quietly<T>(body: impl FnOnce() -> T) -> T {
    QUIET.set(true);
    let result = body();
    QUIET.set(false);
    result
}

/// Takes the message of the last panic on this thread.
pub(super) fn take_message() -> String {
    MESSAGE
        .take()
        .unwrap_or_else(|| "without a message".to_owned())
}

fn message(info: &PanicHookInfo) -> String {
    let text = info.payload_as_str().unwrap_or("without a message");
    match info.location() {
        Some(place) => format!("{text} ({}:{})", place.file(), place.line()),
        None => text.to_owned(),
    }
}
