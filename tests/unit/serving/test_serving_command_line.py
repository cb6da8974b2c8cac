import socket

import pytest

from transformer.commands.serve import main


@pytest.mark.parametrize("option", ["--replicas", "--most"])
def test_excessive_number_of_replicas_is_reported_in_one_line(run_main, option):
    done = run_main(main, option, 1_000_000)
    assert done.returncode == 1 and done.stderr.endswith("--replicas and --most must be at most 1,000, not 1,000,000\n")


@pytest.mark.parametrize("port", [-1, 0, 85_010])
def test_invalid_port_is_reported_in_one_line(run_main, port):
    done = run_main(main, "--port", port)
    assert (done.returncode, done.stderr) == (1, f"error: --port must be at least 1 and at most 65535, not {port}\n")


def test_model_server_listens_on_an_ipv6_host(run_main):
    try:
        taken = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with taken:
        port = taken.getsockname()[1]
        done = run_main(main, "--host", "::1", "--port", port, "--model", "none")
        assert done.stderr.startswith(f"error: cannot listen on [::1]:{port} (Address already in use)")
    done = run_main(main, "--host", "::1", "--port", port, "--model", "none")
    assert done.stderr.startswith("error: The file none/config.json is missing"), "somebody can listen there"


# 192.0.2.1 is reserved for documentation and belongs to no machine; ::g is not an IP address.
@pytest.mark.parametrize("host", ["192.0.2.1", "::g"])
def test_host_that_is_not_an_address_of_this_machine_is_reported_in_one_line(run_main, host):
    done = run_main(main, "--host", host)
    assert done.returncode == 1 and done.stderr.startswith("error: cannot listen on ")
    assert done.stderr.endswith("): choose another --host or --port\n") and done.stderr.count("\n") == 1
