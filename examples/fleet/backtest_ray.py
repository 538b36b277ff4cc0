"""backtest_ray.py DIR OUT.json HOOKBOX [OPTION OF hookbox backtest]...: docs/src/fleet.md"""
import json, os, re, subprocess, sys
import ray
IN_FLIGHT = 1000  # The tasks that Ray knows at a time, which bounds its memory.
@ray.remote(num_cpus=1, max_retries=20, scheduling_strategy="SPREAD")  # A retry is for a worker or a node that died.
def judge(file, team, command):
    """Runs hookbox on a file. Returns its result, with the team as the source, and the commands by answer and reason."""
    run = subprocess.run([*command, file], capture_output=True, text=True)
    result = json.loads(run.stdout) if run.returncode == 0 else {"sources": {}}
    sources = list(result["sources"].values())
    if [it["files"] for it in sources] != [1]:  # The code is also 0 for a file that has no sessions or an I/O error.
        raise OSError(f"{file}: {run.stderr.strip() or 'not a session file'}")
    result["sources"] = {team: {**sources[0], "files_without_calls": int(sources[0]["calls"] == 0)}}
    for tally in result["hooks"].values():
        groups = {}
        for it in tally["commands"]:
            it = {**it, "team": team, "reason": general(it["reason"], it["command"])}
            add(groups, {(team, it["answer"], it["reason"]): it})
        tally["commands"] = groups
    result["agent_hooks"] = {(it["name"], it["command"]): it for it in result["agent_hooks"]}
    return result

def general(reason, command):
    """Removes the paths of the command from a reason, so that those of `rm -rf ~/a` and `rm -rf ~/b` count as one."""
    words = {word for word in command.split() if not word.isalpha()}
    return re.sub(r"`[^`]*`|[^\s,:]+", lambda it: "…" if it[0][0] == "`" or it[0] in words else it[0], reason)

def add(total, result):
    """Adds the numbers of a result, key by key. Of anything else the first one stays."""
    for key, value in result.items():
        if isinstance(value, dict) and key != "next":
            add(total.setdefault(key, {}), value)
        elif key == "longest_us":
            total[key] = max(total.get(key, 0), value)
        elif type(value) is int:
            total[key] = total.get(key, 0) + value
        elif isinstance(value, list):
            total[key] = total.get(key, []) + value
        else:
            total.setdefault(key, value)

def backtest(root, command):
    """Judges each file below a directory. Returns the object of `hookbox backtest --json`, with teams as the sources."""
    def refuse(error): raise error
    files = [os.path.join(at, name) for at, _, names in os.walk(root, onerror=refuse) for name in names]
    tasks, failed, total = set(), [], {}
    while (files or tasks) and len(failed) < 100:
        for file in [files.pop() for _ in range(min(len(files), IN_FLIGHT - len(tasks)))]:
            team = os.path.relpath(os.path.dirname(file), root).split(os.sep)[0]
            tasks.add(judge.remote(file, team, command))
        for task in ray.wait(list(tasks), num_returns=len(tasks), timeout=0.2)[0]:
            tasks.remove(task)
            try:
                add(total, ray.get(task))
            except ray.exceptions.RayError as error:
                failed.append(str(getattr(error, "cause", error)))
    if failed or not total:
        sys.exit("\n".join([*sorted(set(failed)), f"error: {root}: no counts: no files, or some that were not judged"]))
    for tally in total["hooks"].values():
        tally["commands"] = sorted(tally["commands"].values(), key=lambda it: (-it["count"], it["team"], it["reason"]))
    total["agent_hooks"] = list(total["agent_hooks"].values())
    return total

if __name__ == "__main__":
    total = backtest(os.path.abspath(sys.argv[1]), [sys.argv[3], "backtest", "--json", *sys.argv[4:]])
    with open(sys.argv[2], "w") as out: json.dump(total, out, indent=1, sort_keys=True)
    for team, numbers in sorted(total["sources"].items()): print(f"{team}:", *(f"{it} {key}" for key, it in numbers.items()))
    for guard, tally in sorted(total["hooks"].items()):
        for it in tally["commands"]: print(f"{it['count']:>12} {it['team']:<16} {guard:<20} {it['answer']:<7} {it['reason']}")
        if tally["other_calls"]: print(f"{tally['other_calls']:>12} further calls of {guard}")
