# `cargo xtask release` writes the version and the checksums. Not run here: there is no Homebrew on that machine.
class Hookbox < Formula
  desc "Guardrails for coding agents: sandboxed hooks"
  homepage "https://github.com/hookbox/hookbox"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

  on_macos do
    on_arm do
      url "https://github.com/hookbox/hookbox/releases/download/v@VERSION@/hookbox-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/hookbox/hookbox/releases/download/v@VERSION@/hookbox-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/hookbox/hookbox/releases/download/v@VERSION@/hookbox-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/hookbox/hookbox/releases/download/v@VERSION@/hookbox-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "hookbox"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/hookbox.bash" => "hookbox"
    zsh_completion.install "completions/_hookbox"
    fish_completion.install "completions/hookbox.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hookbox --version")
  end
end
