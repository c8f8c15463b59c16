"""The steps of tools/Dockerfile without a container engine: ``python tools/image.py public FOLDER 8502``.

Each stage is a folder below FOLDER, which stands for its root: files are copied and commands run there, and paths that
begin in the image begin in that folder. At the end the image's own command serves, its own health check asks, and the
server is ended. As root, what the image does as its own account is done as `nobody`. What needs an engine is left out
and said: accounts, ports, and the base image, which a copy of this Python stands for.
"""

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "tools" / "Dockerfile"
PLACES = ("/opt/dpviz", "/source", "/home/dpviz")  # of the image, which are elsewhere here
OF_ENGINES = re.compile(r"useradd .*|python -m pip uninstall .*")
PATIENCE = 400.0  # seconds until it is healthy


@dataclass(frozen=True)
class Stage:
    """A stage, as far as its steps were run.

    Attributes:
        folder: what stands for its root.
        where: its present folder, in the image.
        environment: what was set.
        account: whether the image's own account runs what follows.
        check, command: its health check and its program.
    """

    folder: Path
    where: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    account: bool = False
    check: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    def path(self, inside: str) -> Path:
        """A path of the image, here."""
        return self.folder / (inside if inside.startswith("/") else f"{self.where}/{inside}").lstrip("/")

    def here(self, text: str) -> str:
        """A text with the image's paths as they are here."""
        return re.sub("|".join(map(re.escape, PLACES)), lambda place: str(self.path(place[0])), text)

    def run(self, command: list[str], *, background: bool = False) -> "subprocess.Popen[bytes]":
        """Start a command in the stage, and wait for it unless it stays.

        Raises:
            RuntimeError: it failed.
        """
        self.path(".").mkdir(parents=True, exist_ok=True)
        nobody = pwd.getpwnam("nobody") if self.account and os.geteuid() == 0 else None
        own = {name: self.here(text) for name, text in self.environment.items()}
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "DPVIZ", "VIRTUAL"))}
        started = subprocess.Popen(
            [self.here(part) for part in command],
            cwd=self.path("."),
            env={**kept, "HOME": str(self.path("/home/dpviz")), **own},
            user=None if nobody is None else nobody.pw_uid,
            group=None if nobody is None else nobody.pw_gid,
            extra_groups=None if nobody is None else [],
        )
        if not background and started.wait():
            raise RuntimeError(f"{shlex.join(command)} ended with {started.returncode}.")
        return started


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile and what they say."""
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines():
        if line.strip():
            instruction, _, rest = line.strip().partition(" ")
            yield instruction, rest.strip()


def ignored(name: str, patterns: list[str]) -> bool:
    """Whether a file of the source tree stays outside: the last pattern that it, or a folder above it, fits decides."""
    verdict = False
    for pattern in patterns:
        inverse, pattern = pattern.startswith("!"), pattern.removeprefix("!")
        above = [name, *map(str, Path(name).parents)]
        if any(fnmatch(one, pattern) or fnmatch(f"/{one}", pattern.replace("**/", "*/")) for one in above):
            verdict = not inverse
    return verdict


def copy_source(to: Path) -> None:
    """The source tree as an engine would see it, of files that Git knows."""
    lines = (DOCKERFILE.parent / f"{DOCKERFILE.name}.dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if not ignored(name, patterns) and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)


def copy_python(to: Path) -> None:
    """This Python with pip and nothing else, where every account may run it."""

    def passed_over(folder: str, names: list[str]) -> list[str]:
        if Path(folder).name == "site-packages":
            return [name for name in names if not name.startswith("pip")]
        return [name for name in names if name in ("test", "__pycache__", "idlelib")]

    shutil.copytree(sys.base_prefix, to, symlinks=True, ignore=passed_over)


def take(stage: Stage, stages: dict[str, Stage], instruction: str, rest: str) -> Stage:
    """The stage after one step.

    Raises:
        ValueError: for an instruction that this program does not know.
    """
    print(f"{instruction} {rest}", flush=True)
    match instruction:
        case "WORKDIR":
            return replace(stage, where=rest)
        case "USER":
            return replace(stage, account=True)
        case "ENV":
            pairs = (pair.partition("=") for pair in shlex.split(rest))
            own = {name: value.replace("$PATH", stage.environment["PATH"]) for name, _, value in pairs}
            return replace(stage, environment={**stage.environment, **own})
        case "COPY" if rest.startswith("--from="):
            other, source, to = rest.removeprefix("--from=").split()
            # A virtual environment names its own path: it stays where it was made.
            stage.path(to).parent.mkdir(parents=True, exist_ok=True)
            stage.path(to).symlink_to(stages[other].path(source))
        case "COPY":
            copy_source(stage.path("."))
        case "RUN":
            if parts := [part for part in rest.split(" && ") if not OF_ENGINES.fullmatch(part)]:
                stage.run(["sh", "-ec", " && ".join(parts)])
        case "HEALTHCHECK":
            return replace(stage, check=tuple(json.loads(rest.partition("CMD ")[2])))
        case "ENTRYPOINT":
            return replace(stage, command=tuple(json.loads(rest)))
        case "ARG" | "EXPOSE":
            pass
        case _:
            raise ValueError(f"Expected an instruction that tools/image.py runs, found {instruction}.")
    return stage


def build(target: str, folder: Path) -> Stage:
    """Run the steps of a target, and of the stages that it stands on or copies from.

    Raises:
        ValueError: there is no such target.
    """
    several: dict[str, list[tuple[str, str]]] = {}
    bases: dict[str, str] = {}
    name = ""
    for instruction, rest in steps(DOCKERFILE.read_text()):
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            bases[name], several[name] = base, []
        elif name:
            several[name].append((instruction, rest))
    if target not in several:
        raise ValueError(f"Expected one of {sorted(several)}, found {target!r}.")
    stages: dict[str, Stage] = {}
    python = folder / "python"
    copy_python(python)
    shared = {"LD_LIBRARY_PATH": str(python / "lib")}  # where its own path is closed to other accounts
    plain = Stage(folder / "base", environment={"PATH": f"{python / 'bin'}:{os.environ['PATH']}", **shared})

    def made(name: str) -> Stage:
        if name not in stages:
            base = made(bases[name]) if bases[name] in several else plain
            stage = replace(base, folder=folder / name)
            for instruction, rest in several[name]:
                if instruction == "COPY" and rest.startswith("--from="):
                    made(rest.removeprefix("--from=").split()[0])
                stage = take(stage, stages, instruction, rest)
            stages[name] = stage
        return stages[name]

    return made(target)


def serve(stage: Stage, port: str) -> None:
    """Start the image's program at a port, wait until its health check is content, and end it.

    Raises:
        RuntimeError: it was not healthy in time.
    """
    for folder in (stage.folder, stage.path("/home/dpviz")):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
    check = [part.replace("8501", port) for part in stage.check]
    server, end = stage.run([*stage.command, f"--port={port}"], background=True), time.monotonic() + PATIENCE
    try:
        while server.poll() is None and time.monotonic() < end:
            try:
                stage.run(check)
            except RuntimeError:
                time.sleep(1.0)
                continue
            print(f"healthy, as account {os.stat(f'/proc/{server.pid}').st_uid}", flush=True)
            return
        raise RuntimeError("The server was not healthy in time.")
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("python tools/image.py TARGET FOLDER PORT")
    serve(build(sys.argv[1], Path(sys.argv[2]).resolve()), sys.argv[3])
