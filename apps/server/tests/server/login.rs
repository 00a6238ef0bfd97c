//! Who may come, and how connections are encrypted.

use crate::harness::{Served, add_user as add, code, program};
use std::process::Command;

fn run(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program()).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn users_prove_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    add(&users, "ada", "admin", "sécret");
    add(&users, "bob", "read", "other");
    let path = users.to_str().unwrap().to_owned();
    assert_eq!(run(&["user", "list", "--users", &path]), (true, "ada\tadmin\nbob\tread\n".into()));
    let served = Served::within(folder, ":memory:", &["--users", "FOLDER/users"]);
    let ada = served.connect("user=ada password=sécret").await.unwrap();
    ada.batch_execute("CREATE TABLE t (a INT)").await.unwrap();
    for how in ["user=ada password=wrong", "user=nobody password=sécret", "user=bob password=sécret"] {
        let error = served.connect(how).await.unwrap_err();
        assert_eq!(code(&error), "28P01", "{how}");
    }
    let bob = served.connect("user=bob password=other").await.unwrap();
    assert!(bob.query("SELECT a FROM t", &[]).await.unwrap().is_empty());
    assert_eq!(code(&bob.batch_execute("INSERT INTO t VALUES (1)").await.unwrap_err()), "25006");
    // Who is added or removed meanwhile is known at once.
    add(&users, "eve", "write", "new");
    assert!(served.connect("user=eve password=new").await.is_ok());
    assert!(run(&["user", "remove", "eve", "--users", &path]).0);
    assert_eq!(code(&served.connect("user=eve password=new").await.unwrap_err()), "28P01");
    assert!(!run(&["user", "remove", "eve", "--users", &path]).0);
}

#[test]
fn a_server_that_could_be_reached_by_all_is_refused() {
    let (is_served, text) = run(&["serve", ":memory:", "--postgres", "0.0.0.0:0"]);
    assert!(!is_served && text.contains("--users FILE and --tls CERTIFICATE KEY"), "{text}");
    let (is_served, text) = run(&["serve", ":memory:", "--postgres", "nowhere"]);
    assert!(!is_served && text.contains("127.0.0.1:5432"), "{text}");
    let (is_served, text) = run(&["serve", ":memory:", "--postgres", "off"]);
    assert!(!is_served && text.contains("--socket"), "{text}");
}
