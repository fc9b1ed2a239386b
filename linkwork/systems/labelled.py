"""A tree that tells a trace, for messages, which joint a loop over its nodes is at."""

from ..model.tree import Tree

REMEDY = (
    "In a mechanism: nothing with mass moves along that joint; give the body it carries a mass or a tensor, or the joint an armature."
)  # for a division by zero in a sweep


class Labelled(Tree):
    def __init__(self, tree: Tree, labels, trace):
        super().__init__(tree.parent, tree.widths)
        self.labels, self.trace = labels, trace

    def base_to_tips(self):
        return self._labelled(super().base_to_tips())

    def tips_to_base(self):
        return self._labelled(super().tips_to_base())

    def _labelled(self, nodes):
        for k in nodes:
            self.trace.label, self.trace.remedy = f'joint "{self.labels[k]}"', REMEDY
            yield k
        self.trace.label = self.trace.remedy = ""
