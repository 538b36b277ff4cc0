//! Statements that drop or empty tables and databases.

use hookbox_judge::{Denial, Preset, Scene, runs_code};
use hookbox_shell::is_in;

/// Clients of databases whose arguments are statements.
pub(crate) const CLIENTS: &str = "psql mysql mariadb sqlite3 duckdb clickhouse-client clickhouse bq snowsql sqlcmd cockroach cqlsh \
    mongosh mongo usql pgcli mycli litecli spanner-cli d1 wrangler influx turso osqueryi trino presto beeline hive isql \
    redis-cli valkey-cli keydb-cli libsql gcloud docker neo4j cypher-shell surreal";

/// Things whose removal loses rows.
const DROPPED: &str = "table database schema keyspace collection owned tablespace role user materialized column dataset \
    warehouse bucket measurement stream namespace";

/// Judges a client of a database.
pub(crate) fn judge(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let is_client = is_in(CLIENTS, name);
    let args = scene.run.args();
    if runs_code(name) {
        let quoted = |text: &str| text.split(['"', '\'', '`']).find_map(loss);
        let statement =
            scene.code().filter(|it| it.contains("execute") || it.contains("query")).find_map(quoted)?;
        return Some(Denial::new(statement, "the rows are lost if there is no backup", ""));
    }
    let is_safe =
        |it: &str| matches!(it, ":memory:" | "-readonly" | "-safe" | "--readonly") || it.starts_with("/tmp/");
    if !is_client || args.iter().any(|it| is_safe(&it.text)) {
        return None;
    }
    if matches!(name, "redis-cli" | "valkey-cli" | "keydb-cli") {
        let printed = scene.input().flat_map(|it| it.args());
        let flushes = |text: &str| text.trim_start().to_ascii_lowercase().starts_with("flush");
        let command =
            hookbox_judge::operands(args, "-h -p -s -a -u -n -r -i -d -D -X --user --pass").first().copied();
        let scripts = args.iter().map(|it| it.text.to_ascii_lowercase());
        let is_flush = command.is_some_and(|it| flushes(&it.text))
            || printed.flat_map(|it| it.text.lines()).any(flushes)
            || scripts.filter(|it| it.contains("call(")).any(|it| it.contains("flush"));
        return is_flush.then(|| Denial::new("empties the store", "its keys are lost", "redis-cli dbsize"));
    }
    let from_input = scene.run.redirections.iter().map(|it| it.target.text.as_str());
    let statement = scene
        .code()
        .chain(args.iter().map(|it| it.text.as_str()).filter(|it| it.contains([' ', '(', '='])))
        .chain(from_input)
        .find_map(loss)?;
    if crate::test_databases::drops_test(scene)
        || scene.preset == Preset::Relaxed && statement.starts_with("deletes")
    {
        return None;
    }
    let save = match name {
        "mysql" | "mariadb" => "mysqldump --all-databases",
        "sqlite3" => "sqlite3 app.db .dump",
        "mongosh" | "mongo" => "mongodump",
        "psql" | "pgcli" => "pg_dump",
        _ => "",
    };
    Some(Denial::new(statement, "the rows are lost if there is no backup", save).save())
}

/// Returns what a text of statements loses.
fn loss(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("dropdatabase(")
        || lower.contains(".drop(")
        || lower.contains(".deletemany({})")
        || lower.contains(".remove({})")
        || lower.contains("deletemany( {}")
    {
        return Some("drops or empties a collection".to_owned());
    }
    lower.split(';').find_map(statement)
}

fn statement(text: &str) -> Option<String> {
    let lines = text.lines().map(|it| it.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = text
        .split(|it: char| it.is_whitespace() || it == '(')
        .map(|it| it.trim_matches(['"', '\'', '`']))
        .filter(|it| !it.is_empty())
        .collect();
    let at = words.iter().position(|it| {
        it.contains('=') && ["drop", "delete", "truncate", "alter"].iter().any(|word| it.ends_with(word))
            || matches!(*it, "drop" | "truncate" | "delete" | "alter" | "update" | "detach")
    })?;
    // Words before the statement are the client's, or `with`.
    if at > 6
        || words.first().is_some_and(|it| {
            matches!(*it, "select" | "insert" | "explain" | "comment" | "create" | "grant" | "revoke")
        })
    {
        return None;
    }
    let rest = words.get(at + 1..)?;
    let is_all = || {
        let place = rest.iter().position(|it| *it == "where");
        place.is_none_or(|at| matches!(rest.get(at + 1..), Some(["true" | "1" | "1=1", ..])))
    };
    let first = words.get(at)?;
    if first.ends_with("drop") {
        let is_whole = |it: &&&str| is_in(DROPPED, it);
        return rest.first().filter(is_whole).map(|it| format!("drops a {it}"));
    }
    match *first {
        "truncate" => (!rest.is_empty()).then(|| "empties a table".to_owned()),
        "delete" => (rest.first() == Some(&"from") && is_all())
            .then(|| "deletes all rows of a table".to_owned())
            .or_else(|| (rest.is_empty() && words.contains(&"detach")).then(|| "deletes nodes".to_owned())),
        "update" => (rest.contains(&"set") && !rest.contains(&"where"))
            .then(|| "changes all rows of a table".to_owned()),
        "alter" => {
            let at = rest.iter().position(|it| *it == "drop")?;
            (rest.get(at + 1) != Some(&"constraint")
                && rest.get(at + 1) != Some(&"not")
                && rest.get(at + 1) != Some(&"default"))
            .then(|| "drops a column".to_owned())
        }
        "detach" => (rest.first() == Some(&"delete")).then(|| "deletes nodes".to_owned()),
        _ => None,
    }
}
