"""backtest_ray.py DIR OUT.json HOOKBOX [OPTION OF hookbox backtest]...: docs/src/fleet.md"""
import collections, json, os, re, subprocess, sys
import ray
IN_FLIGHT = 1000  # The tasks that Ray knows at a time, which bounds its memory.
@ray.remote(num_cpus=1, max_retries=20, scheduling_strategy="SPREAD")  # A retry is for a worker or a node that died.
def judge(file, command):
    """Runs hookbox on a file. Returns its numbers, and its calls by guard, answer and reason."""
    run, calls = subprocess.run([*command, file], capture_output=True, text=True), collections.Counter()
    result = json.loads(run.stdout) if run.returncode == 0 else {"sources": {}}
    sources = list(result["sources"].values())
    if [it["files"] for it in sources] != [1]:  # The code is also 0 for a file that has no sessions or an I/O error.
        raise OSError(f"{file}: {run.stderr.strip() or 'not a session file'}")
    for guard, tally in result["hooks"].items():
        calls[guard, "other", "further commands"] += tally["other_calls"]
        for it in tally["commands"]:
            calls[guard, it["answer"], general(it["reason"], it["command"])] += it["count"]
    return {**sources[0], "files_without_calls": int(sources[0]["calls"] == 0)}, +calls

def general(reason, command):
    """Removes the paths of the command from a reason, so that those of `rm -rf ~/a` and `rm -rf ~/b` count as one."""
    words = {word for word in command.split() if not word.isalpha()}
    return re.sub(r"`[^`]*`|[^\s,:]+", lambda it: "…" if it[0][0] == "`" or it[0] in words else it[0], reason)

def backtest(root, command):
    """Judges each file below a directory. Returns the numbers by team, and the calls by team, guard, answer, reason."""
    def refuse(error): raise error
    files = [os.path.join(at, name) for at, _, names in os.walk(root, onerror=refuse) for name in names]
    tasks, failed, numbers, calls = {}, [], collections.defaultdict(collections.Counter), collections.Counter()
    while (files or tasks) and len(failed) < 100:
        for file in [files.pop() for _ in range(min(len(files), IN_FLIGHT - len(tasks)))]:
            tasks[judge.remote(file, command)] = os.path.relpath(os.path.dirname(file), root).split(os.sep)[0]
        for task in ray.wait(list(tasks), num_returns=len(tasks), timeout=0.2)[0]:
            team = tasks.pop(task)
            try:
                of_file, calls_of_file = ray.get(task)
                numbers[team].update(of_file)
                calls.update({(team, *key): count for key, count in calls_of_file.items()})
            except ray.exceptions.RayError as error:
                failed.append(str(getattr(error, "cause", error)))
    if failed or not numbers:
        sys.exit("\n".join([*sorted(set(failed)), f"error: {root}: no counts: no files, or some that were not judged"]))
    return numbers, calls

if __name__ == "__main__":
    numbers, calls = backtest(os.path.abspath(sys.argv[1]), [sys.argv[3], "backtest", "--json", *sys.argv[4:]])
    keys = ("calls", "team", "guard", "answer", "reason")
    rows = [dict(zip(keys, (-less, *key))) for less, key in sorted((-count, key) for key, count in calls.items())]
    with open(sys.argv[2], "w") as out: json.dump({"teams": numbers, "counts": rows}, out, indent=1, sort_keys=True)
    for team, of_team in sorted(numbers.items()): print(f"{team}:", *(f"{count} {key}" for key, count in of_team.items()))
    for it in rows: print(f"{it['calls']:>12} {it['team']:<16} {it['guard']:<20} {it['answer']:<7} {it['reason']}")
