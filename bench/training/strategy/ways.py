# SPDX-License-Identifier: Apache-2.0
"""Lists the strategies of examples/train for bench/training/strategies."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Way:
    """words: options of train. servers: ranks besides the workers."""

    name: str
    words: tuple
    servers: int = 0
    least: int = 2  # workers


def servers(name, count, *words):
    return Way(name, ("--strategy", "parameter_server", "--servers", str(count), *words), count)


WAYS = [
    Way("ring", ("--topology", "ring")),
    Way("butterfly", ("--topology", "butterfly")),
    Way("ring, buckets", ("--topology", "ring", "--bucket", "256K")),
    Way("fp16", ("--compress", "fp16", "--topology", "ring")),
    Way("int8", ("--compress", "int8")),
    Way("top_k", ("--compress", "top_k", "--keep", "0.01", "--momentum-correction")),
    servers("1 server, synchronous", 1),
    servers("1 server, staleness 3", 1, "--staleness", "3"),
    servers("1 server, asynchronous", 1, "--staleness", "unbounded"),
    servers("2 servers, synchronous", 2),
    Way("local SGD, 8 steps", ("--strategy", "local_sgd", "--every", "8")),
    Way("gossip", ("--strategy", "gossip")),
    Way("gossip, staleness 3", ("--strategy", "gossip", "--staleness", "3")),
    Way("federated", ("--strategy", "federated")),
]
