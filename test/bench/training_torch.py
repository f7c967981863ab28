# SPDX-License-Identifier: Apache-2.0
"""That PyTorch trains the networks that tutti does: python3 test/bench/training_torch.py, with a Python that has torch"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from training.workloads import WORKLOADS  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "this Python has no torch (Debian: python3-torch, for /usr/bin/python3)")
class Networks(unittest.TestCase):
    def networks(self):
        from training import torch_rank
        for w in WORKLOADS.values():
            shape = [int(n) for n in w.image.split("x")]
            words = dict(word.split("=") for word in w.words())
            yield w, torch.zeros(4, *shape), torch_rank.network(words, shape[0] * shape[1] * shape[2])

    def test_they_have_as_many_parameters(self):
        known = {"mlp": 235_146, "wide_mlp": 1_863_690, "lenet5": 61_706, "resnet20": 272_474}
        for w, _, network in self.networks():
            self.assertEqual(sum(p.numel() for p in network.parameters()), known[w.name], w.name)

    def test_they_take_the_images_and_name_a_class(self):
        for w, images, network in self.networks():
            self.assertEqual(list(network(images).shape), [4, 10], w.name)


if __name__ == "__main__":
    unittest.main()
