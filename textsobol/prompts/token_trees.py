"""Prompts and answers as a tree of tokens: what several begin with is there once.

Prompts are sorted, so that those with a common beginning are neighbours. Answers are a small tree
of their own, the same below the last token of every prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from textsobol.sobol.arrays import Array, Integers

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class AnswerTree:
    """The tokens of answers that others follow, and what is asked of them.

    Attributes:
        parents: the node before each node; -1 for the last token of the prompt.
        tokens: the token of each node.
        asked: a node, or -1, and the token whose probability after it is asked for: one for every
            token of every answer, answer by answer.
    """

    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    asked: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, answers: Sequence[Tokens]) -> AnswerTree:
        """The tree of answers, none of which is empty.

        Example:
            >>> tree = AnswerTree.of([(5,), (7, 8), (7, 9)])
            >>> tree.parents, tree.tokens
            ((-1,), (7,))
            >>> tree.asked
            ((-1, 5), (-1, 7), (0, 8), (-1, 7), (0, 9))
        """
        nodes: dict[Tokens, int] = {(): -1}
        asked = []
        for answer in answers:
            for k, token in enumerate(answer):
                asked.append((nodes.setdefault(answer[:k], len(nodes) - 1), token))
        made = [path for path in nodes if path]
        return cls(
            tuple(nodes[path[:-1]] for path in made),
            tuple(path[-1] for path in made),
            tuple(asked),
        )

    @cached_property
    def paths(self) -> list[Tokens]:
        """From the prompt to each node, and to the prompt's last token: the tokens on the way."""
        paths: list[Tokens] = [()]
        for parent, token in zip(self.parents, self.tokens, strict=True):
            paths.append((*paths[parent + 1], token))
        return paths

    def rows(self) -> list[tuple[Tokens, list[int], list[int]]]:
        """The fewest paths on which everything is asked: path, numbers in ``asked``, and depths.

        Example:
            >>> AnswerTree.of([(5,), (7, 8), (7, 8, 9)]).rows()
            [((7, 8), [0, 1, 2, 3, 4, 5], [0, 0, 1, 0, 1, 2])]
        """
        left = [(k, self.paths[node + 1]) for k, (node, _) in enumerate(self.asked)]
        rows = []
        for path in sorted(self.paths, key=len, reverse=True):
            own = [(k, before) for k, before in left if path[: len(before)] == before]
            left = [each for each in left if each not in own]
            if own:
                rows.append((path, [k for k, _ in own], [len(before) for _, before in own]))
        return rows

    @cached_property
    def read(self) -> list[int]:
        """The nodes whose outputs are needed; -1 for the last token of the prompt."""
        return sorted({node for node, _ in self.asked})


class SortedPrompts:
    """Prompts in order, and how many tokens each begins with like the one before it.

    Args:
        prompts: token ids, all different and none empty.

    Attributes:
        order: the place of each sorted prompt among those given.
    """

    def __init__(self, prompts: Sequence[Tokens]) -> None:
        self.order = sorted(range(len(prompts)), key=prompts.__getitem__)
        self.prompts = [prompts[k] for k in self.order]
        self.lengths = np.array([len(prompt) for prompt in self.prompts], dtype=np.int64)
        pairs = zip(self.prompts, self.prompts[1:], strict=False)
        self.common = np.array([0, *(count_common(a, b) for a, b in pairs)], dtype=np.int64)
        self._new = np.cumsum([0, *(self.lengths - self.common).tolist()])

    def find_shared(self, start: int, stop: int) -> Tokens:
        """The tokens that prompts ``start`` to ``stop`` all begin with, without the last of any.

        The last token of a prompt is always run with the answers, which read its output.
        """
        inner = self.common[start + 1 : stop].min(initial=self.lengths[start])
        return self.prompts[start][: min(inner, self.lengths[start:stop].min() - 1)]

    def count_nodes(self, start: int, stop: int, depth: int) -> int:
        """Nodes of the tree of prompts ``start`` to ``stop`` below a depth that they share."""
        later = int(self._new[stop] - self._new[start + 1])
        return int(self.lengths[start]) - depth + later

    def split(self, start: int, stop: int, depth: int) -> list[tuple[int, int]]:
        """Ranges of prompts whose token at a depth is the same; one that ends there is alone."""
        is_last = self.lengths == depth + 1
        cuts = [start]
        cuts += [k for k in range(start + 1, stop) if self.common[k] <= depth or is_last[k - 1]]
        return list(zip(cuts, [*cuts[1:], stop], strict=True))


@dataclass(frozen=True)
class Pack:
    """A tree of tokens that a model reads at once, each token attending to its ancestors only.

    Attributes:
        tokens: ``(nodes,)``.
        depths: how far below the shared beginning each token is ``(nodes,)``.
        sees: whether a node sees another ``(nodes, nodes)``.
        reads: the nodes that are read, prompt by prompt ``(prompts, nodes that answers read)``.
    """

    tokens: Integers
    depths: Integers
    sees: Array
    reads: Integers


def make_pack(
    prompts: SortedPrompts, start: int, stop: int, depth: int, answers: AnswerTree
) -> Pack:
    """The tree of prompts ``start`` to ``stop`` below a depth that they share, with answers."""
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    reads: list[list[int]] = []

    def add(token: int, parent: int) -> int:
        tokens.append(token)
        parents.append(parent)
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return len(tokens) - 1

    path: list[int] = []
    for k in range(start, stop):
        prompt = prompts.prompts[k]
        kept = 0 if k == start else int(prompts.common[k]) - depth
        del path[kept:]
        for token in prompt[depth + kept :]:
            path.append(add(token, path[-1] if path else -1))
        branch = [path[-1]]  # and the nodes of the answers below it
        for token, parent in zip(answers.tokens, answers.parents, strict=True):
            branch.append(add(token, branch[parent + 1]))
        reads.append([branch[node + 1] for node in answers.read])
    sees = np.eye(len(tokens), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            sees[node] |= sees[parent]
    return Pack(np.array(tokens), np.array(depths), sees, np.array(reads))


def count_common(one: Tokens, other: Tokens) -> int:
    """How many tokens two prompts both begin with.

    Example:
        >>> count_common((1, 2, 3), (1, 2, 4, 5))
        2
    """
    for k, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return k
    return min(len(one), len(other))
