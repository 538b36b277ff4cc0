"""Reads a shell line as commands, so that a guard sees words and not letters."""

SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "ash")

_RUNNERS = {
    "sudo": "CDRTUghpru",
    "doas": "Cu",
    "env": "Cu",
    "timeout": "ks",
    "nice": "n",
    "ionice": "cn",
    "nohup": "",
    "time": "fo",
    "stdbuf": "eio",
    "setsid": "",
    "xargs": "EILPadns",
    "command": "",
    "builtin": "",
    "exec": "a",
}
"""Programs that run the rest of their words, with their letters for options that have a value."""

_GRAMMAR = ("{", "}", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until")

_MAX_DEPTH = 16


def commands(line: str) -> list[list[str]]:
    """Returns the words of every simple command on a line, without quotes, redirections and assignments.

    It also finds the commands in `$(…)`, backquotes and `<(…)`, those behind `sudo`, `env`, `timeout`, `xargs` and
    the like, and those in a script for `sh -c`, `eval`, `find -exec` or a here-document. A variable stays as it is
    written, and a substitution is `$()`. It catches mistakes: somebody who hides a command can do so.

    Raises `ValueError` for a line that has too many commands within commands to be read.
    """
    return _Reader(line, 0, 0).read()


def program(words: list[str]) -> str:
    """Returns the name of a command's program, without its directory; an empty text if there is none."""
    return words[0].rpartition("/")[2] if words else ""


class _Reader:
    """Reads from one place of a text, up to its end or a closing parenthesis."""

    def __init__(self, text: str, at: int, depth: int, is_inner: bool = False) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError("the line has too many commands within commands")
        self._text, self.at, self._depth, self._is_inner = text, at, depth, is_inner
        self._found: list[list[str]] = []
        self._words: list[str] = []
        self._word: list[str] | None = None
        self._next = ""
        """The kind of the next word: an argument, `file` of a redirection, or `end` of a here-document."""
        self._documents: list[str] = []

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def read(self) -> list[list[str]]:
        level = 0
        while self.at < len(self._text):
            letter = self._take()
            if letter in "\\'\"`$" or (letter in "<>" and self._peek() == "("):
                self._part(letter)
            elif letter == "#" and self._word is None:
                end = self._text.find("\n", self.at)
                self.at = len(self._text) if end < 0 else end
            elif letter in " \t\r":
                self._end_word()
            elif letter in "<>" or (letter == "&" and self._peek() == ">"):
                self._redirect(letter)
            elif letter in ";&|()\n":
                self._end_command()
                level += (letter == "(") - (letter == ")")
                if self._is_inner and level < 0:
                    break
                if letter == "\n":
                    self._read_documents()
            else:
                self._add(letter)
        self._end_command()
        return self._found

    def _take(self) -> str:
        self.at += 1
        return self._text[self.at - 1 : self.at]

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    def _until(self, end: str) -> str:
        """Returns the text up to an end, and goes behind it."""
        found = self._text.find(end, self.at)
        start, found = self.at, len(self._text) if found < 0 else found
        self.at = found + len(end)
        return self._text[start:found]

    def _part(self, letter: str) -> None:
        """Reads a part of a word that begins with this letter."""
        following = self._peek()
        if letter == "\\":
            escaped = self._take()
            if escaped != "\n":
                self._add(escaped)
        elif letter == "'":
            self._add(self._until("'"))
        elif letter == '"':
            self._quoted()
        elif letter == "`":
            self._found += _Reader(self._until("`"), 0, self._depth + 1).read()
            self._add("$()")
        elif following == "(":
            inner = _Reader(self._text, self.at + 1, self._depth + 1, is_inner=True)
            self._found += inner.read()
            self.at = inner.at
            self._add("$()")
        elif letter != "$" or following not in ("'", '"'):
            self._add(letter)

    def _quoted(self) -> None:
        """Reads to the closing double quote."""
        self._add("")
        while self.at < len(self._text):
            letter = self._take()
            if letter == '"':
                return
            if letter == "`" or (letter == "$" and self._peek() == "("):
                self._part(letter)
            elif letter == "\\" and self._peek() in tuple('"\\$`\n'):
                self._part(letter)
            else:
                self._add(letter)

    def _redirect(self, operator: str) -> None:
        # `2>` has the number of a descriptor.
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None
        self._end_word()
        while self._peek() in tuple("<>&|-"):
            operator += self._take()
        self._next = "end" if operator in ("<<", "<<-") else "file"

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        kind, self._next = self._next, ""
        if kind == "end":
            self._documents.append(word)
        elif not kind and (self._words or word not in _GRAMMAR):
            self._words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        words, self._words, self._next = unwrapped(self._words), [], ""
        if not words:
            return
        self._found.append(words)
        script = None
        if program(words) in SHELLS:
            behind = [at + 1 for at, word in enumerate(words) if word[:1] == "-" != word[1:2] and "c" in word]
            script = words[behind[0]] if behind and behind[0] < len(words) else None
        elif program(words) == "eval":
            script = " ".join(words[1:])
        elif program(words) == "find":
            for at, word in enumerate(words):
                if word in ("-exec", "-execdir", "-ok", "-okdir"):
                    rest = words[at + 1 :]
                    end = next((i for i, it in enumerate(rest) if it in (";", "+")), len(rest))
                    self._found.append(unwrapped(rest[:end]))
        if script is not None:
            self._found += _Reader(script, 0, self._depth + 1).read()

    def _read_documents(self) -> None:
        # The shell that reads it is the last command of its line: `bash <<END`, or `cat <<END | sh`.
        is_script = bool(self._found) and program(self._found[-1]) in SHELLS
        for end in self._documents:
            lines: list[str] = []
            while self.at < len(self._text) and (line := self._until("\n")).lstrip("\t") != end:
                lines.append(line)
            if is_script:
                self._found += _Reader("\n".join(lines), 0, self._depth + 1).read()
        self._documents = []


def unwrapped(words: list[str]) -> list[str]:
    """Returns the words without assignments and programs that only run the rest, such as `sudo -u root`."""
    while words:
        first, rest = words[0], words[1:]
        if first.partition("=")[0].isidentifier() and "=" in first:
            words = rest
            continue
        name = program(words)
        if name not in _RUNNERS or (name == "command" and rest[:1] in (["-v"], ["-V"])):
            break
        while rest and rest[0].startswith("-"):
            option, rest = rest[0], rest[1:]
            if option == "--":
                break
            with_value = [at for at, letter in enumerate(option) if letter in _RUNNERS[name]]
            if not option.startswith("--") and with_value[:1] == [len(option) - 1]:
                rest = rest[1:]
        words = rest[1:] if name == "timeout" else rest
    return words
