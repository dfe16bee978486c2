"""The settings of a run: which of them are options."""

import pytest

from bertlab.cli.main import main


@pytest.mark.parametrize("command", ["pretrain", "finetune"])
def test_functions_among_the_settings_are_no_options(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert "--save-every" in shown and "--on-start" not in shown and "--on-evaluation" not in shown
    with pytest.raises(SystemExit) as ended:
        main([command, "--on-start", "print"])
    assert ended.value.code == 2
