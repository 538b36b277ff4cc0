//! Runs each case in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hookbox::native::DEPTH_VARIABLE;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::case::{Came, Case};
use super::compare::{Difference, compare};
use super::error::{CaseError, CaseErrorKind};
use super::find::Found;
use super::place::Place;
use super::play::Task;

/// The time limit of a case: longer than all hooks of an event may take.
const DEADLINE: Duration = Duration::from_secs(300);

/// The variables of the user's that a case keeps: the programs of a hook are found by `PATH`, and its depth in hooks
/// must not be lost.
const KEPT: [&str; 2] = ["PATH", DEPTH_VARIABLE];

/// The program that runs a case: it reads a [`Task`] as JSON on standard input, calls [`play`](super::play), and writes
/// [`Came`] as JSON.
#[derive(Clone, Debug)]
pub struct Player {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The directory of compiled code.
    pub cache: Option<PathBuf>,
    /// The agent through whose wire the events go.
    pub dialect: Option<String>,
    /// The number of cases at once.
    pub jobs: usize,
}

/// A case that was run.
#[derive(Clone, Debug)]
pub struct Played {
    /// The case file.
    pub file: PathBuf,
    /// The position of the case in the file, from 0.
    pub position: usize,
    /// The hook, absolute.
    pub hook: PathBuf,
    /// The case.
    pub case: Case,
    /// The answer that came.
    pub came: Came,
    /// The differences from the one that must come: none if the case passed.
    pub differences: Vec<Difference>,
    /// The time that it took, with the start of its process.
    pub duration: Duration,
}

impl Player {
    /// Runs all cases, and returns them in their order.
    ///
    /// If the future is dropped, the processes are ended.
    ///
    /// # Errors
    ///
    /// [`CaseError`] if the process of a case cannot be started.
    pub async fn play_all(&self, found: &[Found]) -> Result<Vec<Played>, CaseError> {
        let mut waiting = found
            .iter()
            .flat_map(|found| found.file.cases.iter().enumerate().map(move |(at, case)| (found, at, case)));
        let mut running = JoinSet::new();
        let mut played: Vec<(usize, Played)> = Vec::new();
        let mut number = 0;
        loop {
            while running.len() < self.jobs.max(1) {
                let Some((found, position, case)) = waiting.next() else { break };
                let (player, case, order) = (self.clone(), case.clone(), number);
                let (file, hook) = (found.file.path.clone(), found.hook.clone());
                running.spawn(async move { Ok((order, player.play(file, position, hook, case).await?)) });
                number += 1;
            }
            match running.join_next().await {
                None => break,
                Some(Ok(done)) => played.push(done?),
                Some(Err(error)) => {
                    return Err(CaseErrorKind::Surroundings(error.to_string()).at(&self.program));
                }
            }
        }
        played.sort_by_key(|(order, _)| *order);
        Ok(played.into_iter().map(|(_, played)| played).collect())
    }

    async fn play(
        &self,
        file: PathBuf,
        position: usize,
        hook: PathBuf,
        case: Case,
    ) -> Result<Played, CaseError> {
        let started = Instant::now();
        let came = self.came(&file, position, &hook, &case).await?;
        let duration = started.elapsed();
        let differences = compare(&case, &came);
        Ok(Played { file, position, hook, case, came, differences, duration })
    }

    /// Runs the process of a case. If it fails, that is the answer.
    async fn came(&self, file: &Path, position: usize, hook: &Path, case: &Case) -> Result<Came, CaseError> {
        let at_file = |error| CaseErrorKind::Io(error).at(file);
        let directory = tempfile::Builder::new().prefix("hookbox-case-").tempdir().map_err(at_file)?;
        let place = Place::at(directory.path()).map_err(at_file)?;
        place.make().map_err(at_file)?;
        let task = Task {
            // The process runs in another directory.
            file: std::path::absolute(file).map_err(at_file)?,
            case: position,
            hook: hook.to_owned(),
            place: directory.path().to_owned(),
            cache: self.cache.clone(),
            dialect: self.dialect.clone(),
        };
        let kept = KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(kept)
            .env("HOME", place.home())
            .env("TMPDIR", place.temporary())
            .envs(&case.environment)
            .current_dir(place.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let at_program = |error| CaseErrorKind::Io(error).at(&self.program);
        let mut child = command.spawn().map_err(at_program)?;
        let stdin = child.stdin.take();
        let text = serde_json::to_vec(&task).map_err(|error| at_program(error.into()))?;
        let work = async {
            if let Some(mut stdin) = stdin {
                // If it did not read its task, its output gives the reason.
                let _ = stdin.write_all(&text).await;
            }
            child.wait_with_output().await
        };
        let unfit = |why: String| Came { unfit: Some(why), ..Came::default() };
        let Ok(output) = tokio::time::timeout(DEADLINE, work).await else {
            return Ok(unfit(format!("the case did not end within {} s", DEADLINE.as_secs())));
        };
        let output = output.map_err(at_program)?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = hookbox::escape(said.trim().trim_start_matches("error: "), 2_000);
            unfit(format!("the case could not be run ({}): {said}", output.status))
        }))
    }
}
