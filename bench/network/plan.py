# SPDX-License-Identifier: Apache-2.0
"""Plans hosts of network namespaces: their names, their links, and the places of ranks."""
import dataclasses

# Bytes that may leave at once after a pause: more than the largest packet that the kernel carries as one. With less,
# the kernel cuts packets up, and then the cores and not the network are the limit.
BURST = "128kb"
QUEUE = "50ms"  # longest time that a packet waits for its turn before it is dropped


@dataclasses.dataclass(frozen=True)
class Network:
    """Hosts on one bridge, or half of them on each of two with a trunk between. All links work both ways at once."""

    prefix: str  # beginning of the name of every namespace, and of no other
    hosts: int
    rate: float  # bits a second of each host's link
    bridges: int = 1
    trunk: float = 0  # bits a second between the bridges
    loss: float = 0  # share of the packets that a soft switch loses, each way
    first: tuple = ()  # bits a second of the links of the first hosts, where these differ

    def rate_of(self, host):
        """Bits a second of a host's link."""
        return self.first[host] if host < len(self.first) else self.rate

    @property
    def slowest(self):
        """The host with the slowest link."""
        return min(range(self.hosts), key=self.rate_of)

    @property
    def switch(self):
        return f"{self.prefix}-switch"

    def space(self, host):
        return f"{self.prefix}-h{host}"

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    NET = "10.77.0.0/24"
    DEVICE = "10.77.0.254"  # address of programs in the switch itself, behind no link

    def bridge(self, host):
        return host * self.bridges // self.hosts

    @property
    def spaces(self):
        return [self.switch, *map(self.space, range(self.hosts))]

    def commands(self, congestion):
        """Commands that make the network, in order, as words for `ip`, `tc` and `sh`. The bridges live in a namespace,
        too: nothing is left over once the namespaces are gone, and no name meets another run's."""
        for space in self.spaces:
            yield ["ip", "netns", "add", space]
            yield ["ip", "-n", space, "link", "set", "lo", "up"]
            yield within(space, f"echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; "
                                f"echo {congestion} >/proc/sys/net/ipv4/tcp_congestion_control")
        yield within(self.switch, "! cd /proc/sys/net/bridge || echo 0 >bridge-nf-call-iptables", quiet=True)
        for b in range(self.bridges):
            yield ["ip", "-n", self.switch, "link", "add", f"bridge{b}", "type", "bridge", "mcast_snooping", "0"]
            yield ["ip", "-n", self.switch, "link", "set", f"bridge{b}", "up"]
        yield ["ip", "-n", self.switch, "address", "add", f"{self.DEVICE}/24", "dev", "bridge0"]
        for h in range(self.hosts):
            yield ["ip", "-n", self.space(h), "link", "add", "eth0", "type", "veth", "peer", "name", f"port{h}", "netns",
                   self.switch]
            yield ["ip", "-n", self.space(h), "address", "add", f"{self.address(h)}/24", "dev", "eth0"]
            yield from self.attach(f"port{h}", self.bridge(h))
            yield ["ip", "-n", self.space(h), "link", "set", "eth0", "up"]
            yield shaped(self.space(h), "eth0", self.rate_of(h))
            yield shaped(self.switch, f"port{h}", self.rate_of(h))
        if self.bridges == 2:
            yield ["ip", "-n", self.switch, "link", "add", "trunk0", "type", "veth", "peer", "name", "trunk1"]
            for b in range(2):
                yield from self.attach(f"trunk{b}", b)
                yield shaped(self.switch, f"trunk{b}", self.trunk)

    def attach(self, port, bridge):
        yield ["ip", "-n", self.switch, "link", "set", port, "master", f"bridge{bridge}"]
        yield ["ip", "-n", self.switch, "link", "set", port, "up"]


def within(space, script, quiet=False):
    return ["ip", "netns", "exec", space, "sh", "-c", f"{{ {script}; }}" + (" 2>/dev/null" if quiet else "")]


def shaped(space, link, rate):
    return ["tc", "-n", space, "qdisc", "add", "dev", link, "root", "tbf", "rate", f"{rate:.15g}bit", "burst", BURST,
            "latency", QUEUE]


@dataclasses.dataclass(frozen=True)
class Placement:
    """The host of each rank."""

    hosts: tuple

    @property
    def ranks(self):
        return len(self.hosts)

    @property
    def order(self):
        """The hosts, in the order of their lowest ranks."""
        return list(dict.fromkeys(self.hosts))

    @property
    def each(self):
        """Ranks per host."""
        return self.ranks // len(self.order)

    @property
    def packed(self):
        """True if the ranks of a host follow each other."""
        return all(self.hosts[i] == self.hosts[i - i % self.each] for i in range(self.ranks))


def place(network, each, how):
    """Places ranks. packed: neighbours in rank are neighbours in the network. dealt: they are as far apart as
    possible; on hosts in turns, and these on bridges in turns."""
    if how == "packed":
        return Placement(tuple(h for h in range(network.hosts) for _ in range(each)))
    half = network.hosts // network.bridges
    turns = [b * half + i for i in range(half) for b in range(network.bridges)]
    return Placement(tuple(turns * each))


def useful(network, each, how):
    """True if a placement differs from the others."""
    return how == "packed" or each > 1 or network.bridges > 1
