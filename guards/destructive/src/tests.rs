//! The lines that the guard denies, and others.

use hookbox_judge::{Preset, Settings, judge};

use super::*;

fn denied(line: &str, preset: Preset) -> Option<String> {
    let settings = Settings { preset, ..Settings::default() };
    judge(line, Some("/home/me/p"), &settings, rule).map(|(_, denial)| denial.what)
}

#[test]
fn what_destroys_is_denied() {
    for line in [
        "rm -rf src",
        "rm -r -f ~",
        "rm -fr \"$HOME\"",
        "rm -rf /",
        "rm -rf *",
        "rm -rf .",
        "rm *",
        "rm -rf \"$X\"",
        "rm -rf $X/",
        "cd /home/me/p/src && rm -rf *",
        "sudo sh -c 'rm -rf /etc'",
        "find . -delete",
        "find src -name '*.rs' -exec rm {} +",
        "cat names | xargs rm -rf",
        "rsync -a --delete a/ ~/",
        "mv src /dev/null",
        ": > src/a.rs",
        "cp /dev/null src/a.rs",
        "truncate -s 0 src/a.rs",
        "shred src/a.rs",
        "dd if=/dev/zero of=/dev/sda",
        "cat x > /dev/sda",
        "mkfs.ext4 /dev/sda1",
        "chmod -R 000 ~",
        "chown -R me /usr",
        "docker volume rm x",
        "docker compose down -v",
        "docker run -v /:/h alpine rm -rf /h",
        "ssh host 'rm -rf /srv/x'",
        "kubectl delete ns x",
        "terraform destroy",
        "aws s3 rm s3://x --recursive",
        "psql -c 'DROP TABLE x'",
        "psql <<'E'\nDELETE FROM x;\nE",
        "redis-cli FLUSHALL",
        "python3 -c \"import shutil; shutil.rmtree('src')\"",
        "node -e \"require('fs').rmSync('src', {recursive: true})\"",
        "echo 'rm -rf src' > /tmp/a.sh; sh /tmp/a.sh",
        "d=src; rm -rf $d",
        ":(){ :|:& };:",
        "rm -rf vendor",
        "mv src /tmp && rm -rf /tmp/src",
        "mv src /tmp/x; rm -rf /tmp/x",
        "mkdir /tmp/x && mv src docs /tmp/x/ && rm -rf /tmp/x/*",
        "d=$(mktemp -d); mv src/* \"$d\"; rm -rf \"$d\"",
        "mv -t /tmp/x src && rm -r /tmp/x/src/a",
        "mv src/a.rs /tmp/ && rm /tmp/a.rs",
        "ln -s \"$PWD/src\" /tmp/x && rm -rf /tmp/x/*",
        "cd ~ && rm -rf build",
        "zip -m -r /tmp/a.zip src && rm /tmp/a.zip",
        "tar --remove-files -cf /dev/null src",
        "sed -i d src/a.rs",
        "exec > src/a.rs",
        "exec >notes.md; make",
        "vim -es src/a.rs +%d +wq",
        "ex -s -c '%d|x' src/a.rs",
        "tar --recursive-unlink -xf a.tar",
        "tar -C src -xf a.tar --recursive-unlink",
        "unzip -o a.zip -d ~",
        "unzip -oqd ~ a.zip",
        "sed 's/.*/rm -rf src/e' a",
        "git config alias.nuke '!rm -rf src' && git nuke",
        "crontab <<< '* * * * * rm -rf ~/work'",
        "concurrently 'rm -rf src' 'ls'",
        "vim +'!rm -rf src' +q",
        "env -S rm -rf src",
        "env -S 'rm -rf' src",
        "env -vS bash -c 'rm -rf src'",
        "conda run -n base rm -rf src",
        "uv run --with x --python 3.12 rm -rf src",
        "poetry -C x run rm -rf src",
        "npx cross-env A=1 rm -rf src",
        "doppler run -- rm -rf src",
        "cp -rf dotfiles/. ~/",
        "cp -af x/* /home/me",
        "cp -Rf x/etc /",
        "iptables -F",
        "sudo iptables --flush INPUT",
        "nft flush ruleset",
        "ufw --force reset",
        "sed -i '1,$d' src/a.rs",
        "perl -i -ne '' src/a.rs",
        "nu -c 'rm -rf src'",
        "turso db destroy shop --yes",
        "trap 'rm -rf \"$d\"' EXIT; d=src",
        "cd && rm -rf dist",
        "rm -rf ~/target",
        "gh api -X DELETE repos/me/p/branches/main/protection",
        "gh api --method=DELETE /repos/me/p",
        "gh api graphql -f query='mutation { deleteRef(input: {refId: \"x\"}) { clientMutationId } }'",
        "gh repo delete me/p --yes",
        "kubectl delete pod --all",
        "kubectl delete pods -l app=web -n shop",
        "kubectl delete pod web-0 --force",
        "kubectl delete ns pod",
        "kubectl delete pod/web-0 deployment/web",
        "find src -type f | while read f; do rm \"$f\"; done",
        "git ls-files | while IFS= read -r f; do rm -f \"${f}\"; done",
        "find src -type f | parallel rm",
        "find src -type f | parallel rm {}",
        "find src -type f | xargs -I{} sh -c 'rm -f {}'",
        "rg --files src | xargs -I{} sh -c 'rm {}'",
        "git ls-files | xargs rm",
        "find . -name '*.pyc' -o -type f -delete",
        "find . -name '*.pyc' -o -delete",
        "find . -name '*.pyc' , -delete",
        "find . -delete -name '*.pyc'",
        "find . -exec rm {} + -name '*.pyc'",
        "find . -empty -or -delete",
        "RAILS_ENV=production bin/rails db:drop",
        "RAILS_ENV=test DATABASE_URL=postgres://me@db/app bin/rails db:drop",
        "RAILS_ENV=test bin/rails db:reset RAILS_ENV=production",
        "RAILS_ENV=test true; bin/rails db:drop",
        "export RAILS_ENV=test; export RAILS_ENV=production; rails db:drop",
        "RAILS_ENV=test dropdb app",
        "dropdb app_test app",
        "dropdb contest",
        "dropdb -U app_test app",
        "psql app_test -c 'DROP DATABASE app'",
        "psql -c 'DROP DATABASE app_test; DROP DATABASE app'",
        "rm -rf bin obj",
        "rm -rf src && dotnet build",
        "python3 -c \"import shutil, tempfile; d = tempfile.mkdtemp(); d = x(); shutil.rmtree(d)\"",
        "python3 -c \"import shutil, sys; d = sys.argv[1]; shutil.rmtree(d)\" src",
    ] {
        assert!(denied(line, Preset::Standard).is_some(), "{line}");
    }
}

#[test]
fn what_can_be_made_again_passes() {
    for line in [
        "rm a.txt",
        "rm -f a b",
        "exec > /tmp/a.txt; ls",
        "exec 2>&1; ls",
        "sed 's/a/b/; s/e/f/' src/a.rs",
        "git config alias.st status",
        "crontab -l",
        "exec bash",
        "vim -es src/a.rs +q",
        "tar --recursive-unlink -xf a.tar -C /tmp/x",
        "unzip -o a.zip -d vendor",
        "unzip -o a.zip",
        "cp -rf a ~/b",
        "cp -rf dist/. /usr/local/share/app/",
        "iptables -L -n",
        "ufw status",
        "rm -r /builds/x",
        "rm -rf build node_modules ./target/debug .venv",
        "mv build /tmp/old && rm -rf /tmp/old",
        "mv src /tmp && rm -rf /tmp/other",
        "cp -r src /tmp/x && rm -rf /tmp/x",
        "zip -r /tmp/a.zip src && rm /tmp/a.zip",
        "tar --remove-files -cf old.tar src",
        "sed -i '/^$/d' README.md",
        "sed -i '' -e 's/a/b/' src/a.rs",
        "sed -n 1,3p src/a.rs",
        "perl -pi -e 's/a/b/' src/a.rs",
        "fd -e log -x rm",
        "find . -name '*.rs.bk' -delete",
        "trap 'rm -rf \"$d\"' EXIT; d=$(mktemp -d)",
        "ln -s \"$PWD/src\" /tmp/x && rm -rf /tmp/x",
        "rm -rf ~/p/build ~/node_modules",
        "gh api repos/me/p/pulls",
        "gh api -X POST repos/me/p/issues -f title='delete it'",
        "kubectl delete pod web-5d8 -n shop",
        "kubectl delete pod/web-0 pod/web-1 --context kind-dev",
        "rm -rf /tmp/x $TMPDIR/y",
        "d=$(mktemp -d); rm -rf \"$d\"",
        "cd /tmp/x && rm -rf *",
        "cd target && rm -rf *",
        "find . -name '*.pyc' -delete",
        "find . -name node_modules -prune -exec rm -rf {} +",
        "find . -name '*.log' | xargs rm -f",
        "find . -type d -empty -delete",
        "find . -name '*.log' | while read f; do rm \"$f\"; done",
        "find . -name '*.log' | parallel rm",
        "find . -name '*.log' | xargs -I{} sh -c 'rm -f {}'",
        "find . \\( -name '*.pyc' -o -name '*.pyo' \\) -delete",
        "find . -path ./x -prune -o -name '*.pyc' -delete",
        "mkdir x && rm -r x",
        "rsync -an --delete a/ ~/",
        "echo x > src/a.rs",
        "cat > src/a.rs <<'E'\nrm -rf /\nE",
        "make 2>/dev/null >build.log",
        "chmod -R u+w .",
        "docker compose down",
        "docker run --rm alpine rm -rf /etc",
        "kubectl delete ns x --dry-run=client",
        "terraform plan",
        "psql -c 'DELETE FROM x WHERE id = 1'",
        "grep -r 'DROP TABLE' .",
        "echo 'rm -rf /'",
        "git commit -m 'rm -rf /'",
        "mkfs.ext4 /tmp/disk.img",
        "rm -rf Pods && pod install",
        "RAILS_ENV=test bin/rails db:drop db:create",
        "bundle exec rake db:reset RAILS_ENV=test",
        "env MIX_ENV=test mix ecto.reset",
        "dropdb -U me app_test",
        "psql -c 'DROP DATABASE IF EXISTS app_test; CREATE DATABASE app_test'",
        "DATABASE_URL=postgres://me@db/app_test npx prisma migrate reset --force",
        "rm -rf vendor && composer install",
        "dotnet clean && rm -rf bin obj src/App/bin",
        "rm -rf site && mkdocs build",
        "rm -rf ~/.gradle/caches ~/.npm/_cacache",
        "python3 -c \"import shutil, tempfile; d = tempfile.mkdtemp(); shutil.rmtree(d)\"",
    ] {
        assert_eq!(denied(line, Preset::Standard), None, "{line}");
    }
}

#[test]
fn presets_and_allowances_change_the_answer() {
    assert_eq!(denied("rm -rf src", Preset::Relaxed), None);
    assert!(denied("rm -rf ~", Preset::Relaxed).is_some());
    assert!(denied("rm -rf build", Preset::Strict).is_some());
    assert!(denied("$X y", Preset::Strict).is_some());
    let settings = Settings { allow: vec!["rm -rf vendor".into()], ..Settings::default() };
    assert_eq!(judge("cd a && rm -rf vendor", None, &settings, rule), None);
    assert!(judge("rm -rf vendor src", None, &settings, rule).is_some());
}

#[test]
fn a_denial_says_what_and_why_and_a_safer_command() {
    let settings = Settings::default();
    let (command, denial) = judge("ls; rm  -rf  'src'", None, &settings, rule).unwrap();
    assert_eq!(command, "rm -rf src");
    assert_eq!(denial.what, "removes src");
    assert_eq!(denial.why, "nobody can make these files again");
    assert_eq!(denial.safer, "git status --short --ignored src");
}

#[test]
fn the_hook_reads_the_command_of_any_shell_and_of_unknown_tools() {
    let cx = Context::default();
    for (tool, input, is_blocked) in [
        ("bash", json!({ "command": "rm -rf src" }), true),
        ("bash", json!({ "command": "ls" }), false),
        ("bash", json!({ "odd": ["rm", "-rf", "src"] }), true),
        ("run_it", json!({ "cmd": "rm -rf src" }), true),
        ("read", json!({ "file_path": "rm -rf src" }), false),
    ] {
        let answer = Guard::before_tool_call(&cx, &ToolCall::new(tool, input)).unwrap();
        assert_eq!(format!("{answer:?}").contains("Safer: git status"), is_blocked, "{tool}");
    }
}
