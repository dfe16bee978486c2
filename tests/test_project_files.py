"""What a code host reads: workflows, forms, citation, changes. None of it runs here, so it is read closely."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


def loaded(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[dict]:
    return [step for job in loaded(path)["jobs"].values() for step in job["steps"]]


def named(paths) -> dict:
    return {"argvalues": paths, "ids": lambda path: path.name}


@pytest.mark.parametrize("path", **named(WORKFLOWS))
def test_a_workflow_uses_released_actions_and_may_only_read(path):
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert True in workflow  # YAML 1.1 reads the key "on" so
    for job in workflow["jobs"].values():
        assert job["runs-on"] and set(job.get("needs", "").split()) <= set(workflow["jobs"])
    for step in steps(path):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+)*", step["uses"]), step["uses"]


@pytest.mark.parametrize("path", **named(WORKFLOWS))
def test_a_workflow_runs_what_there_is(path):
    commands = [step["run"] for step in steps(path) if "run" in step]
    for target in re.findall(r"\bmake ([a-z-]+)", "\n".join(commands)):
        assert target in TARGETS
    for extras in re.findall(r"-e \"\.\[(.*?)\]\"", "\n".join(commands)):
        assert set(extras.split(",")) == set(PROJECT["optional-dependencies"])
    assert all("-c constraints.txt" in line for line in "\n".join(commands).splitlines() if "pip install" in line)


def test_the_quick_tests_run_on_all_systems_and_all_of_them_on_linux():
    jobs = loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    assert {name.split("-")[0] for name in jobs["quick"]["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
    assert {"run": ".ci/run"} in jobs["whole"]["steps"]


@pytest.mark.parametrize("path", **named(FORMS))
def test_a_form_asks_at_least_one_thing(path):
    form = loaded(path)
    assert form["name"] and form["description"]
    names = [field["id"] for field in form["body"]]
    assert len(names) == len(set(names)) and any(field.get("validations", {}).get("required") for field in form["body"])
    assert all(field["attributes"]["label"] and field["type"] in ("input", "textarea") for field in form["body"])


def test_version_and_licence_are_the_same_everywhere():
    citation = loaded(ROOT / "CITATION.cff")
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\d+\.\d+\.\d+)", changes, re.M)[1] == PROJECT["version"]


def test_the_container_sets_up_what_the_makefile_does():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert container["postCreateCommand"].removeprefix("make ") in TARGETS
    assert set(container["portsAttributes"]) == {str(port) for port in container["forwardPorts"]}


def test_commit_hooks_are_those_of_the_environment():
    (repository,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert all(hook["entry"].startswith(".venv/bin/ruff ") for hook in repository["hooks"])
