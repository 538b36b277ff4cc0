//! Databases that tests make again.

use hookbox_judge::Scene;
use hookbox_shell::Arg;

/// Variables that name the environment of an application.
const ENVIRONMENTS: [&str; 6] = ["RAILS_ENV", "RACK_ENV", "NODE_ENV", "MIX_ENV", "APP_ENV", "DJANGO_ENV"];

/// Returns true if a command works on the database of tests: by the environment, or by the names of databases.
pub(crate) fn is_of_tests(scene: &Scene<'_>) -> bool {
    let run = scene.run;
    let assigned = |args: &[Arg]| {
        let pairs =
            args.iter().filter(|it| it.is_plain()).filter_map(|it| hookbox_shell::assignment(&it.text));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    let mut set: Vec<(String, String)> =
        run.assignments.iter().map(|(name, value)| (name.clone(), value.text.clone())).collect();
    // `rails db:drop RAILS_ENV=test`
    set.extend(assigned(run.args()));
    // Clients such as `psql` do not read these variables.
    let reads = matches!(
        run.program(),
        Some("rails" | "rake" | "sequelize" | "sequelize-cli" | "knex" | "typeorm" | "mix" | "php")
    );
    let mut is_test = false;
    for (name, value) in &set {
        if ENVIRONMENTS.contains(&name.as_str()) {
            is_test = reads && value == "test";
        }
    }
    // A URL, or a switch such as `DISABLE_DATABASE_ENVIRONMENT_CHECK`, may lead to another database.
    let is_other = |(name, value): &(String, String)| name.contains("DATABASE") && !is_test_url(value);
    if set.iter().any(is_other) {
        return false;
    }
    is_test
        || set.iter().any(|(name, value)| name == "DATABASE_URL" && is_test_url(value))
        || drops_test(scene)
}

/// Returns true for the name of a database of tests.
fn is_test_name(name: &str) -> bool {
    let is_word =
        !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
    is_word
        && (name == "test" || name.ends_with("_test") || name.starts_with("test_") || name.ends_with("-test"))
}

fn is_test_url(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    is_test_name(path.rsplit('/').next().unwrap_or_default())
}

/// Returns true if all databases that a client drops have names of tests.
pub(crate) fn drops_test(scene: &Scene<'_>) -> bool {
    let args = scene.run.args();
    let plain = |it: &&Arg| it.is_plain();
    match scene.run.program() {
        Some("dropdb") => {
            let names: Vec<&Arg> =
                hookbox_judge::operands(args, "-h -p -U --host --port --username --maintenance-db");
            !names.is_empty() && names.iter().all(|it| it.is_plain() && is_test_name(&it.text))
        }
        Some("psql" | "mysql" | "mariadb") => {
            let codes: Vec<&str> = scene.code().collect();
            let statements =
                || codes.iter().flat_map(|it| it.split(';')).map(str::trim).filter(|it| !it.is_empty());
            statements().next().is_some() && statements().all(drops_test_database)
        }
        Some("mysqladmin") => {
            let mut words = args.iter().filter(plain).skip_while(|it| it.text != "drop").skip(1);
            words.next().is_some_and(|it| is_test_name(&it.text))
        }
        _ => false,
    }
}

/// Returns true for `DROP DATABASE` or `CREATE DATABASE` of a database of tests.
fn drops_test_database(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_ascii_whitespace().map(|it| it.trim_matches(['"', '`'])).collect();
    match words.as_slice() {
        ["drop", "database", "if", "exists", name] | ["drop" | "create", "database", name] => {
            is_test_name(name)
        }
        _ => false,
    }
}
