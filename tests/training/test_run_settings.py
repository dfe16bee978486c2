"""The settings of a run: what takes them, and which of them are options."""

from inspect import signature

import pytest

from bertlab.cli.main import main
from bertlab.training.engine.loop import train
from bertlab.training.finetune import finetune
from bertlab.training.pretrain import pretrain

MOST = 8  # parameters beside the settings that a reader still takes in at a glance


@pytest.mark.parametrize("function", [train, pretrain, finetune])
def test_a_training_takes_its_settings_and_few_parameters_beside(function):
    names = [*signature(function).parameters]
    assert "settings" in names and len(names) - 1 <= MOST, names


@pytest.mark.parametrize("command", ["pretrain", "finetune"])
def test_functions_among_the_settings_are_no_options(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert "--save-every" in shown and "--on-start" not in shown and "--on-evaluation" not in shown
    with pytest.raises(SystemExit) as ended:
        main([command, "--on-start", "print"])
    assert ended.value.code == 2
