"""How a model prints."""

import linkwork as lw
from linkwork.model import mechanism


def small(name="rig", tip="tip"):
    rig = lw.Builder(name)
    rig.body("base", mass=10.0)
    rig.body("arm", "base", joint=lw.Revolute(), mass=2.5)
    rig.body("ball", "arm", joint=lw.Spherical(), mass=1.0)
    rig.body(tip, "arm", joint=lw.Prismatic(), mass=0.125)
    rig.body("wheel", "base", joint=lw.Universal(), joint_name="hub", mass=1.0)
    rig.body("cart", joint=lw.Planar(), mass=3.0)
    return rig


def test_the_tree_is_drawn_base_to_tips():
    assert str(small().model()) == (
        "rig: 6 bodies, nq = 11, nv = 10, 17.625 kg\n"
        "body        joint       kind       in q     kg\n"
        "base        base_joint  fixed               10\n"
        "├─ arm      arm_joint   revolute   q[0]     2.5\n"
        "│  ├─ ball  ball_joint  spherical  q[1:5]   1\n"
        "│  └─ tip   tip_joint   prismatic  q[5]     0.125\n"
        "└─ wheel    hub         compound   q[6:8]   1\n"
        "cart        cart_joint  planar     q[8:11]  3"
    )


def test_the_headline_counts():
    rig = small().loop("ring", "ball", "tip", lw.Revolute()).couple("tip_joint", "arm_joint").model()
    assert repr(rig) == "<Model rig: 6 bodies, nq = 11, nv = 10, 17.625 kg, 1 loop, 1 coupling>"
    assert repr(mechanism("pendulum")) == "<Model pendulum: 1 body, nq = 1, nv = 1, 1 kg>"
    assert str(lw.Model("nothing")) == "nothing: 0 bodies, nq = 0, nv = 0, 0 kg\nbody  joint  kind  in q  kg"


def test_html_has_a_row_for_each_body_and_escapes_names():
    page = small("<b>rig</b>", tip="<script>").model()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;rig&lt;/b&gt;" in page
    assert page.count("<tr>") == 7


def test_a_long_chain_prints_in_reasonable_space():
    page = str(mechanism("chain:1000"))
    assert page.endswith("... and 800 bodies more")
    assert page.count("\n") == 202
