"""Actors of all blocks, called together."""

import re
from time import sleep

from phaselabel.distributed.folder import open_folder
from phaselabel.distributed.run import actor_group
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.peer_actor import PeerActor


class Napping(PeerActor):
    """A block that does nothing for some seconds."""

    def __init__(self, folder, number, n_classes, size):
        self.number, self._boundary = number, {}

    def nap(self, seconds):
        sleep(seconds)
        return seconds


def test_a_slow_block_is_named_in_the_log(client, monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(actor_group, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(actor_group, "SLOW_SECONDS", 0.2)
    actors = ActorGroup(client, open_folder(tmp_path), 3, 2, 10, kind=Napping)
    with caplog.at_level("INFO", "phaselabel"):
        assert actors.call("nap", each=[(0.0,), (2.0,), (0.0,)]) == [0.0, 2.0, 0.0]
    actors.release()
    # The others may be slow too on a busy machine, but not for so long.
    waits = [words for words in caplog.messages if words.startswith("Waiting for ")]
    assert re.fullmatch(r"Waiting for 'nap' of block 1 on \S+\.", waits[-1])
