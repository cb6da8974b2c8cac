from __future__ import annotations

import pytest

from transformer.serving.__main__ import main


@pytest.mark.parametrize("option", ["--replicas", "--most"])
def test_more_copies_than_any_cluster_runs_are_one_line(run_main, option):
    done = run_main(main, option, 1_000_000)
    assert done.returncode == 1 and done.stderr.endswith("1,000,000 copies of the model: take at most 1,000\n")


@pytest.mark.parametrize("port", [-1, 0, 85_010])
def test_a_port_that_is_none_is_one_line(run_main, port):
    done = run_main(main, "--port", port)
    assert (done.returncode, done.stderr) == (1, f"error: --port must be at least 1 and at most 65535, not {port}\n")
