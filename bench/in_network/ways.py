# SPDX-License-Identifier: Apache-2.0
"""Lists the strategies of the experiment: types of numbers, and servers."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to sum. words: options of train; {device} stands for the switch's address. factor: of fixed-point numbers
    with a constant one, else 0."""

    name: str
    words: tuple
    servers: int = 0
    factor: float = 0

    def command(self, train, device, workers, words):
        """The command of a training with this many workers."""
        return [train, "run", "--ranks", str(workers + self.servers),
                *(w.format(device=device) for w in self.words), *words]

    @property
    def comparable(self):
        """True if its sums can be compared with sums in double, step by step."""
        return not self.servers


DEVICE = ("--transport", "fpga_nic", "--device", "{device}")


def constant(factor):
    return Way(f"constant factor {factor:.0e}", (*DEVICE, "--sums", "fixed_point", "--factor", f"{factor:g}"),
               factor=factor)


RING = Way("ring", ("--transport", "loopback", "--topology", "ring"))
FLOATS = Way("float32 in the network", DEVICE)
EXPONENTS = Way("shared exponents", (*DEVICE, "--sums", "shared_exponents"))
SERVER = Way("parameter server", ("--transport", "tcp", "--strategy", "parameter_server"), servers=1)


def ways(factors):
    return [RING, FLOATS, EXPONENTS, SERVER, *(constant(f) for f in factors)]
