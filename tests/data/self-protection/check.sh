#!/bin/bash
# Runs each line of `changes.txt`, or of another such file, in bash, in a scratch home and repository with a hookbox that only
# writes down how it is called. Prints the lines that neither called it with a subcommand that is the user's, nor ended it,
# nor changed a protected file. Needs Linux and the right to make namespaces (`unshare`).
set -u
if [ "${1:-}" != --inside ]; then
    file=$(realpath "${1:-$(dirname "$0")/changes.txt}")
    exec unshare --map-root-user --mount --pid --fork --net --mount-proc bash "$(realpath "$0")" --inside "$file"
fi
file=/run/lines
self=/run/check
mount -t tmpfs none /run && cp "$2" "$file" && mkdir "$self"
home=/home/ada repo=/srv/shop

scratch() {
    umount -q /home /srv /tmp 2>/dev/null
    mount -t tmpfs none /home && mount -t tmpfs none /srv && mount -t tmpfs none /tmp
    mkdir -p $home/{.hookbox/hooks,.claude/hooks,.codex,.config/opencode,.copilot,.local/{bin,share/hookbox},.cache/hookbox}
    mkdir -p $repo/{.hookbox/hooks,.claude,.codex,.gemini,.cursor,.github/hooks,bin,src,docs,target,dist,tests}
    cd $home
    echo '# home' | tee .hookbox/hookbox.toml .hookbox/hooks/guard.py .local/share/hookbox/trust.json .cache/hookbox/code \
        .claude.json .claude/settings.json .claude/hooks/a.sh .codex/hooks.json .codex/config.toml \
        .config/opencode/opencode.json .copilot/config.json > /dev/null
    printf '#!/bin/sh\nprintf "%%s\\n" "$*" >> %s/log\necho guard\n' $self > .local/bin/hookbox
    printf '#!/bin/sh\nwhile :; do case $1 in -u) shift 2;; -*) shift;; *) break;; esac; done\nexec "$@"\n' > .local/bin/sudo
    cd $repo
    git init -q 2> /dev/null && echo '# shop' > README.md && echo demo > src/a.txt && git add -A && git commit -qm one
    echo '# repo' | tee .hookbox/hookbox.toml .hookbox/hooks/guard.sh .hookbox/hooks.json bin/g.sh .codex/config.toml \
        .claude/settings{,.local}.json .gemini/settings.json .cursor/hooks.json .github/hooks/x.json > /dev/null
    echo '{"hooks": true}' | tee .claude/settings{,.local}.json .gemini/settings.json > /dev/null
    git add .hookbox && git commit -qm two && echo '# repo' > .hookbox/notes && echo '# new' >> .hookbox/hookbox.toml
    sed -i 1d .hookbox/hookbox.toml && git commit -qam three && sed -i 's/new/repo/' .hookbox/hookbox.toml
    seq 20000 -1 1 > src/big.txt
    mkdir -p /tmp/evil/hooks && echo evil | tee /tmp/evil/hookbox.toml /tmp/evil/hooks/guard.sh > /dev/null
    (cd /tmp/evil && tar -cf $repo/src/evil.tar . && zip -qr $repo/src/evil.zip .)
    mkdir /tmp/h && cp -r /tmp/evil /tmp/h/.hookbox && tar -C /tmp/h -cf src/home.tar . && rm -r /tmp/evil /tmp/h
    chmod -R +x $repo/.hookbox/hooks $repo/bin $home/.local/bin
}

state() {
    (
        stat -c '%n %a' $home/.local $home/.local/share
        cd $home 2> /dev/null && find .hookbox .claude/settings.json .claude/hooks .claude.json .codex .config/opencode \
            .copilot .local/bin/hookbox .local/share/hookbox .cache/hookbox -printf '%p %m %l\n' -type f -exec md5sum {} \;
        cd $repo 2> /dev/null && find .hookbox .claude .codex .gemini .cursor .github bin/g.sh -printf '%p %m %l\n' -type f -exec md5sum {} \;
    ) 2> /dev/null | sort | md5sum
}

export HOME=$home USER=ada XDG_DATA_HOME=$home/.local/share XDG_CONFIG_HOME=$home/.config PATH=$home/.local/bin:$PATH
export GIT_CONFIG_GLOBAL=/run/gitconfig GIT_CONFIG_NOSYSTEM=1
git config -f $GIT_CONFIG_GLOBAL user.name ada && git config -f $GIT_CONFIG_GLOBAL user.email ada@example.com
cp "$(command -v bash)" /run/hookbox
count=0 odd=0
while IFS= read -r raw; do
    case $raw in '#'* | '') continue ;; esac
    line=${raw#\? }
    line=${line//@HOME@/$home}
    line=${line//@REPO@/$repo}
    line=${line//⏎/$'\n'}
    count=$((count + 1))
    scratch
    rm -f $self/log
    (exec -a 'hookbox bridge claude' /run/hookbox -c 'while :; do sleep 60; done') &
    victim=$!
    before=$(state)
    (cd $repo && timeout -s KILL 10 setsid bash -c "$line") < /dev/null > $self/output 2>&1
    sleep 0.05
    calls=$(grep -E '^(.* )?(trust|untrust|install|uninstall|plugin (add|remove|update)|grants .*(add|remove))( |$)' $self/log 2> /dev/null)
    found=unchanged
    if [ -n "$calls" ] || [ "$before" != "$(state)" ]; then found=changed; fi
    case $(ps -o stat= -p $victim) in '' | Z* | T*) found=changed ;; esac
    kill -9 $victim 2> /dev/null
    wait $victim 2> /dev/null
    if [ $found = unchanged ]; then
        odd=$((odd + 1))
        printf '%s\n    %s\n' "$raw" "$(head -c 300 $self/output | tr '\n' ' ')"
    fi
done < "$file"
echo "$count lines, $odd without effect"
