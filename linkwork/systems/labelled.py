"""A tree that tells a trace which joint it is at, for messages."""

from ..model.tree import Tree

REMEDY = "Nothing with mass moves along that joint; give the body it carries a mass or a tensor, or the joint an armature."


class Labelled(Tree):
    def __init__(self, tree: Tree, labels, trace):
        super().__init__(tree.parent, tree.widths)
        self.labels, self.trace = labels, trace

    def base_to_tips(self):
        return map(self._at, super().base_to_tips())

    def tips_to_base(self):
        return map(self._at, super().tips_to_base())

    def _at(self, k):
        self.trace.label = f'joint "{self.labels[k]}"'
        return k
