"""Measures the cost of full, local and compressed attention as a function of text length.

    python benchmarks/long_texts.py [--threads N] [--json FILE] [--record FILE]

The costs are the bytes that attention weights, keys and values take, and the seconds that a forward pass takes. The
three attention types take turns at each length, so that other load on the machine affects all types. `--record` writes
the file with the costs that the *Long texts* page shows by default.
"""

import os
import sys
from pathlib import Path

import torch

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.timing import Figure, command_line, figure, write
from transformer.checkpoints.memory import memory_available
from transformer.language_modelling.cost import MIN_FITTED_LENGTH, RecordedCosts, slopes
from transformer.language_modelling.cost_measurement import MODEL, measurements

COMMAND = "python benchmarks/long_texts.py --record assets/attention_costs.json"
QUANTITIES = {"weights": "bytes of the weights", "keys_and_values": "bytes of keys and values", "seconds": "seconds"}
PEER = "full attention"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--threads", type=int, default=1, help="number of torch threads (default: %(default)s)")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the costs shown on the *Long texts* page to this file"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(MODEL)
    print(
        f"{'tokens':>6} {'attention':10} {'weights':>12} {'keys, values':>13} {'seconds':>9}   ratios to full attention"
    )
    costs, figures = [], dict[str, Figure]()
    for cost in measurements(available=memory_available()):
        costs.append(cost)
        full = next((each for each in costs if each.attention == "full" and each.length == cost.length), None)
        ratios = ""
        for name, said in QUANTITIES.items():
            own, peer = getattr(cost, name), full and getattr(full, name)
            figures[f"{said}, {cost.attention}, {cost.length:,} tokens"] = figure(own, peer, PEER if full else None)
            ratios += f" {own / peer:7.3f}" if peer else ""
        print(
            f"{cost.length:6,} {cost.attention:10} {cost.weights:12,} {cost.keys_and_values:13,} {cost.seconds:9.4f} "
            f"  {ratios}",
            flush=True,
        )
    print(f"slopes on logarithmic axes, for {MIN_FITTED_LENGTH:,} tokens or more")
    for name, said in QUANTITIES.items():
        print(f"  {said}:", ", ".join(f"{each} {value:.2f}" for each, value in slopes(costs, name).items()))
    write(options.json, figures)
    if options.record:
        cores = f"{options.threads} of {os.cpu_count()} CPU cores"
        recorded = RecordedCosts(tuple(costs), MODEL, cores, COMMAND)
        options.record.write_text(recorded.to_json() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
