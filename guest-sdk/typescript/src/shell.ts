/** Reads a shell line as commands, so that a guard sees words and not letters. */

const SHELLS = ["sh", "bash", "zsh", "dash", "ksh", "ash"];

/** Programs that run the rest of their words, with their letters for options that have a value. */
const RUNNERS: Record<string, string> = {
  sudo: "CDRTUghpru",
  doas: "Cu",
  env: "Cu",
  timeout: "ks",
  nice: "n",
  ionice: "cn",
  nohup: "",
  time: "fo",
  stdbuf: "eio",
  setsid: "",
  xargs: "EILPadns",
  command: "",
  builtin: "",
  exec: "a",
};

const GRAMMAR = ["{", "}", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until"];

const MAX_DEPTH = 16;

/** Returns the words of every simple command on a line, without quotes, redirections and assignments.
 *
 * It also finds the commands in `$(…)`, backquotes and `<(…)`, those behind `sudo`, `env`, `timeout`, `xargs` and the
 * like, and those in a script for `sh -c`, `eval`, `find -exec` or a here-document. A variable stays as it is written,
 * and a substitution is `$()`. It catches mistakes: somebody who hides a command can do so.
 *
 * It throws for a line that has too many commands within commands to be read. */
export const commands = (line: string): string[][] => new Reader(line, 0, 0).read();

/** Returns the name of a command's program, without its directory; an empty text if there is none. */
export const program = (words: string[]): string => words[0]?.split("/").at(-1) ?? "";

/** Reads from one place of a text, up to its end or a closing parenthesis. */
class Reader {
  private readonly found: string[][] = [];
  private words: string[] = [];
  private word: string | undefined;
  /** The kind of the next word: an argument, the `file` of a redirection, or the `end` of a here-document. */
  private next: "argument" | "file" | "end" = "argument";
  private documents: string[] = [];

  private readonly text: string;
  at: number;
  private readonly depth: number;
  private readonly isInner: boolean;

  constructor(text: string, at: number, depth: number, isInner = false) {
    if (depth > MAX_DEPTH) throw new Error("the line has too many commands within commands");
    this.text = text;
    this.at = at;
    this.depth = depth;
    this.isInner = isInner;
  }

  read(): string[][] {
    let level = 0;
    while (this.at < this.text.length) {
      const letter = this.take();
      if ("\\'\"`$".includes(letter) || ("<>".includes(letter) && this.peek() === "(")) {
        this.part(letter);
      } else if (letter === "#" && this.word === undefined) {
        const end = this.text.indexOf("\n", this.at);
        this.at = end < 0 ? this.text.length : end;
      } else if (" \t\r".includes(letter)) {
        this.endWord();
      } else if ("<>".includes(letter) || (letter === "&" && this.peek() === ">")) {
        this.redirect(letter);
      } else if (";&|()\n".includes(letter)) {
        this.endCommand();
        level += Number(letter === "(") - Number(letter === ")");
        if (this.isInner && level < 0) break;
        if (letter === "\n") this.readDocuments();
      } else {
        this.add(letter);
      }
    }
    this.endCommand();
    return this.found;
  }

  private add(text: string): void {
    this.word = (this.word ?? "") + text;
  }

  private take(): string {
    return this.text.charAt(this.at++);
  }

  private peek(): string {
    return this.text.charAt(this.at);
  }

  /** Returns the text up to an end, and goes behind it. */
  private until(end: string): string {
    const start = this.at;
    const found = this.text.indexOf(end, start);
    this.at = (found < 0 ? this.text.length : found) + end.length;
    return this.text.slice(start, found < 0 ? undefined : found);
  }

  /** Reads a text of its own. */
  private script(text: string): void {
    this.found.push(...new Reader(text, 0, this.depth + 1).read());
  }

  /** Reads a part of a word that begins with this letter. */
  private part(letter: string): void {
    const following = this.peek();
    if (letter === "\\") {
      const escaped = this.take();
      if (escaped !== "\n") this.add(escaped);
    } else if (letter === "'") {
      this.add(this.until("'"));
    } else if (letter === '"') {
      this.quoted();
    } else if (letter === "`") {
      this.script(this.until("`"));
      this.add("$()");
    } else if (following === "(") {
      const inner = new Reader(this.text, this.at + 1, this.depth + 1, true);
      this.found.push(...inner.read());
      this.at = inner.at;
      this.add("$()");
    } else if (letter !== "$" || !["'", '"'].includes(following)) {
      this.add(letter);
    }
  }

  /** Reads to the closing double quote. */
  private quoted(): void {
    this.add("");
    while (this.at < this.text.length) {
      const letter = this.take();
      const following = this.peek();
      if (letter === '"') return;
      const isPart =
        letter === "`" ||
        (letter === "$" && following === "(") ||
        (letter === "\\" && ['"', "\\", "$", "`", "\n"].includes(following));
      if (isPart) this.part(letter);
      else this.add(letter);
    }
  }

  private redirect(first: string): void {
    // `2>` has the number of a descriptor.
    if (this.word !== undefined && /^[0-9]+$/.test(this.word)) this.word = undefined;
    this.endWord();
    let operator = first;
    while (["<", ">", "&", "|", "-"].includes(this.peek())) operator += this.take();
    this.next = operator === "<<" || operator === "<<-" ? "end" : "file";
  }

  private endWord(): void {
    if (this.word === undefined) return;
    const { word, next } = this;
    this.word = undefined;
    this.next = "argument";
    if (next === "end") this.documents.push(word);
    else if (next === "argument" && (this.words.length > 0 || !GRAMMAR.includes(word))) this.words.push(word);
  }

  private endCommand(): void {
    this.endWord();
    const words = unwrapped(this.words);
    this.words = [];
    this.next = "argument";
    if (words.length === 0) return;
    this.found.push(words);
    if (SHELLS.includes(program(words))) {
      const option = words.findIndex((word) => /^-[^-]*c/.test(word));
      const script = option < 0 ? undefined : words[option + 1];
      if (script !== undefined) this.script(script);
    } else if (program(words) === "eval") {
      this.script(words.slice(1).join(" "));
    } else if (program(words) === "find") {
      words.forEach((word, at) => {
        if (!["-exec", "-execdir", "-ok", "-okdir"].includes(word)) return;
        const rest = words.slice(at + 1);
        const end = rest.findIndex((it) => it === ";" || it === "+");
        this.found.push(unwrapped(end < 0 ? rest : rest.slice(0, end)));
      });
    }
  }

  private readDocuments(): void {
    // The shell that reads it is the last command of its line: `bash <<END`, or `cat <<END | sh`.
    const isScript = SHELLS.includes(program(this.found.at(-1) ?? []));
    for (const end of this.documents) {
      const lines: string[] = [];
      while (this.at < this.text.length) {
        const line = this.until("\n");
        if (line.replace(/^\t+/, "") === end) break;
        lines.push(line);
      }
      if (isScript) this.script(lines.join("\n"));
    }
    this.documents = [];
  }
}

/** Returns the words without assignments and programs that only run the rest, such as `sudo -u root`. */
export function unwrapped(words: string[]): string[] {
  let left = words;
  for (;;) {
    const [first, ...behind] = left;
    if (first === undefined) return left;
    if (/^[A-Za-z_][A-Za-z0-9_]*=/.test(first)) {
      left = behind;
      continue;
    }
    const name = program(left);
    const letters = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
    if (letters === undefined || (name === "command" && ["-v", "-V"].includes(behind[0] ?? ""))) return left;
    let rest = behind;
    while (rest[0]?.startsWith("-")) {
      const [option = "", ...more] = rest;
      rest = more;
      if (option === "--") break;
      const withValue = [...option].findIndex((letter) => letters.includes(letter));
      if (!option.startsWith("--") && withValue >= 0 && withValue === option.length - 1) rest = rest.slice(1);
    }
    left = name === "timeout" ? rest.slice(1) : rest;
  }
}
