"""The scene for the browser, seen from the side of the server."""

import socket
import threading
import time
from urllib.request import urlopen

import numpy as np
import pytest

import linkwork as lw
from linkwork.view.controls import ranges

viser = pytest.importorskip("viser")
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402


def test_a_view_serves_a_page_until_it_is_closed():
    with lw.view(lw.load("double_pendulum"), port=0, block=False) as scene:
        with urlopen(scene.url, timeout=10) as page:
            assert b"<html" in page.read()[:2000].lower()
        assert scene.url in repr(scene)
    assert "closed" in repr(scene)
    scene.close()  # again, and nothing happens


def test_a_slider_moves_the_bodies_beyond_its_joint():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    with lw.view(robot, port=0, block=False) as scene:
        _, second = scene.controls.sliders
        second.value = 0.5
        until(lambda: scene.q[1] == 0.5)
        assert np.allclose(scene._bodies[1].wxyz, [np.cos(0.25), 0, np.sin(0.25), 0])
        assert np.allclose(scene._bodies[0].wxyz, [1, 0, 0, 0])


def test_sliders_move_any_joint_there_is():
    with lw.view(lw.load("joint_zoo"), port=0, block=False) as scene:
        assert len(scene.controls.sliders) == 33
        for slider in scene.controls.sliders:
            slider.value = 0.1
        until(lambda: np.allclose(scene.controls.x, 0.1))
        assert np.isfinite(scene.q).all()


def test_a_slider_of_a_linkage_leads_the_others_as_far_as_they_can_go():
    """The crank's to where it is put, loops closed; the rocker's no further than it reaches."""
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    with lw.view(robot, port=0, block=False) as scene:
        crank, _, rocker = scene.controls.sliders
        crank.value = 0.5
        until(lambda: scene.q[0] == 0.5 and rocker.value == scene.q[2])
        assert np.abs(robot.constraints.residual(scene.q)).max() < 1e-12 and abs(scene.q[2]) > 0.05
        before = scene.q
        rocker.value = 1.5
        until(lambda: rocker.value == scene.q[2])
        assert np.array_equal(scene.q, before)


def test_sliders_stay_within_the_limits_of_joints():
    spans = ranges(lw.load("cartpole"), 1.0)
    assert spans[0] == (-2.4, 2.4)
    assert np.allclose(spans[1], (-np.pi, np.pi))


def test_a_motion_plays_and_starts_again(swing):
    with lw.view(swing, port=0, block=False, trace=["end"]) as scene:
        scene.controls.speed.value = "5×"
        seen = set()
        until(lambda: seen.add(round(scene.controls.t, 1)) or len(seen) > 3)
        assert not np.array_equal(scene.q, swing.q[0])


def test_waiting_ends_after_the_time_given():
    scene = lw.view(lw.load("pendulum"), port=0, block=False)
    scene.wait(0.05)
    assert scene.ended.is_set()


def test_sliders_of_modes_bend_a_body_by_a_tenth(bending_cart):
    with lw.view(bending_cart.robot, port=0, block=False) as scene:
        assert [str(x) for x in scene.controls.names][2:] == ["bar_modes η1", "bar_modes η2"]
        first = scene.controls.sliders[2]
        first.value = first.max
        until(lambda: scene.q[2] == first.max)
        tip = scene.motion.robot.pose(scene.q, "bar.tip")[:3, 3]
        assert 0.03 < np.linalg.norm(tip - [1, 0, 0]) < 0.2


def test_a_view_shows_configurations_of_the_robot_alone(swing):
    """One number for two joints is refused, not spread over both; names of traces before a server starts; no time, no player."""
    still = lw.Motion(swing.robot, [1.0, 1.0], np.zeros((2, 2)), np.zeros((2, 2)))
    with lw.view(still, port=0, block=False) as scene:
        for wrong in ([1.0], "a", None):
            with pytest.raises(lw.ShapeError, match=r"^q "):
                scene.show(wrong)
    before = threading.active_count()
    with pytest.raises(lw.UnknownNameError, match="no body or frame"):
        lw.view(swing, port=0, block=False, trace=["no"])
    assert threading.active_count() <= before


@pytest.mark.parametrize("port", [-1, 65536, 8080.0, True, None])
def test_a_port_that_is_none_is_refused_at_once(port):
    with pytest.raises(lw.OptionError, match=r"port is .* whole number"):
        lw.view(lw.load("pendulum"), port=port, block=False)


@pytest.mark.parametrize("host", ["", None, "192.0.2.1", "no such host", "no.such.host.invalid", "a" * 70])
def test_a_host_that_is_not_this_machine_is_refused_at_once(host):
    with pytest.raises(lw.OptionError, match=r"host is .* address of this machine"):
        lw.view(lw.load("pendulum"), host=host, port=0, block=False)


def test_where_no_port_is_left_the_view_says_so():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 65535))
        taken.listen()
        with pytest.raises(lw.OptionError, match="port is 65535"):
            lw.view(lw.load("pendulum"), port=65535, block=False)


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:1"},
    {"origin": "http://evil.example:{port}", "host": "evil.example:{port}"},
    {"host": "evil.example:{port}"},
]


def connects(scene, origin=None, host="127.0.0.1:{port}") -> bool:
    """Does the view open a WebSocket to a page of this origin, called by this host? The first message comes, or it is refused with 403."""
    fill = lambda x: x and x.format(port=scene.port)
    road, protocol = socket.create_connection(("127.0.0.1", scene.port)), [f"viser-v{viser.__version__}"]
    try:
        with connect(f"ws://{fill(host)}", sock=road, origin=fill(origin), subprotocols=protocol) as page:
            return len(page.recv(timeout=10)) > 0
    except InvalidStatus as error:
        assert error.response.status_code == 403
        return False


def test_only_pages_of_the_view_itself_connect_to_it():
    """The Origin has to be the Host, and the Host this machine; programs have no Origin; other pages by `origins` alone."""
    with lw.view(lw.load("pendulum"), port=0, block=False) as scene:
        assert connects(scene) and connects(scene, "http://127.0.0.1:{port}")
        assert connects(scene, "http://localhost:{port}", "localhost:{port}")
        assert connects(scene, "http://localhost:9", "localhost:9")  # through a tunnel
        assert not any(connects(scene, **page) for page in FOREIGN)
    with lw.view(lw.load("pendulum"), port=0, block=False, origins=["https://lab.example.org/"]) as scene:
        assert connects(scene, "https://lab.example.org") and not connects(scene, "https://lab.example.com")


def test_other_servers_of_the_process_are_not_guarded():
    from websockets.asyncio import server

    before = server.serve
    with lw.view(lw.load("pendulum"), port=0, block=False):
        assert server.serve is before


def until(condition, seconds=10.0):
    """Wait for what another thread does."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds
        time.sleep(0.01)


def test_joints_are_shown_to_carry_what_hangs_on_them():
    """Each joint of a hanging chain holds the weight below it: the first all of it, drawn half as long as the scene."""
    robot = lw.Dynamics(lw.load("chain:4"))
    with lw.view(robot, port=8190, block=False) as shown:
        shown.show_forces()
        segments = np.asarray(shown._forces.points)
        lengths = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
        np.testing.assert_allclose(lengths / (0.5 * shown.scene.size), [1.0, 0.75, 0.5, 0.25], rtol=1e-5)
        assert (segments[:, 1, 2] > segments[:, 0, 2]).all()
