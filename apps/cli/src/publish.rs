//! The verbs `publish` and `sweep`: a database sent to where its URL is, and what is removed there.

use crate::args::{Arguments, PublishArgs};
use crate::failure::Failure;
use crate::opening;
use gingham::{Database, PublishOptions, PublishReport, SweepReport};
use gingham_lab::words::counted;
use indicatif::HumanBytes;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Publishes once, or again and again.
pub fn publish(arguments: &Arguments, publish: &PublishArgs) -> Result<(), Failure> {
    let mut options = PublishOptions::new();
    if let Some(age) = publish.keep {
        options = options.keep(age);
    }
    // The first time the database may need a number of its own.
    let mut report = send(opening::open(arguments, true)?.0, publish, &options)?;
    tell(&publish.url, &report);
    let Some(every) = publish.every else { return Ok(()) };
    loop {
        sleep(every);
        // In between others may write.
        let sent = opening::open_for_reading(arguments)
            .and_then(|database| send(database, publish, &options.clone().after(&report)));
        match sent {
            Ok(sent) => {
                if sent.is_new {
                    tell(&publish.url, &sent);
                }
                report = sent;
            }
            // The link may be down for a while.
            Err(failure) => eprintln!("error: {}; it is tried again", failure.message()),
        }
    }
}

fn send(database: Database, publish: &PublishArgs, options: &PublishOptions) -> Result<PublishReport, Failure> {
    let spinner = crate::spinner::Spinner::start(None);
    let sent = database.publish(&publish.url, options);
    database.close(crate::PATIENCE);
    drop(spinner);
    Ok(sent?)
}

fn tell(url: &str, report: &PublishReport) {
    let PublishReport { number, sent, sent_bytes, bytes, .. } = *report;
    if report.is_new {
        let (sent_bytes, bytes) = (HumanBytes(sent_bytes), HumanBytes(bytes));
        say!(
            "{url}: published as number {number}, {} with {sent_bytes} sent of {bytes}",
            counted(sent as u64, "object")
        );
    } else {
        say!("{url}: number {number} is what the database is now; nothing was sent");
    }
    if let Some(swept) = &report.swept {
        tell_swept(url, swept, false);
    }
}

/// Removes what nobody needs any more, or says what that is.
pub fn sweep(url: Option<&Path>, keep: Duration, dry_run: bool) -> Result<(), Failure> {
    let url = url.and_then(Path::to_str).filter(|url| gingham::is_url(url)).ok_or_else(|| {
        Failure::usage("sweep takes the URL of a published database before it: gingham file:///srv/shop sweep")
    })?;
    let spinner = crate::spinner::Spinner::start(None);
    let report = Database::sweep(url, keep, dry_run)?;
    drop(spinner);
    if dry_run {
        report.manifests.iter().for_each(|number| say!("manifest {number}"));
        report.objects.iter().for_each(|name| say!("{name}"));
    }
    tell_swept(url, &report, dry_run);
    Ok(())
}

fn tell_swept(url: &str, report: &SweepReport, dry_run: bool) {
    let (states, objects) = (report.manifests.len() as u64, report.objects.len() as u64);
    let verb = if dry_run { "would be removed" } else { "removed" };
    say!(
        "{url}: {} and {} of {} {verb}; {} left",
        counted(states, "state"),
        counted(objects, "object"),
        HumanBytes(report.bytes),
        counted(report.left as u64, "state"),
    );
}
