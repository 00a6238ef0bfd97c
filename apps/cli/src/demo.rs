//! The main job from nothing.

use clap::Args;

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArgs {}

/// Runs the demo.
pub fn run(args: DemoArgs) -> gingham::Result<()> {
    let _ = args;
    Err(gingham::Error::Unsupported("the demo is not part of this build".to_owned()))
}
