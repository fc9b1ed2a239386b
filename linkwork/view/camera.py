"""A camera: projects points of the world to the plane of a picture."""

from dataclasses import dataclass

import numpy as np

FIELD = np.radians(30.0)  # angle of view across the shorter side of the picture
ROOM = 1.04  # margin around the points


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks from `eye` at `target`; rows of `axes` are right, up and back."""

    eye: np.ndarray
    target: np.ndarray
    axes: np.ndarray

    @staticmethod
    def around(points: np.ndarray, up: np.ndarray, azimuth: float, elevation: float, aspect: float = 1.0) -> "Camera":
        """The nearest camera, in a direction given in degrees, that has all points in the picture."""
        points = points.reshape(-1, 3)
        target = (points.min(0) + points.max(0)) / 2
        back = direction(up, azimuth, elevation)
        right = np.cross(up, back)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(back, right), back])
        seen = (points - target) @ axes.T
        half = np.tan(FIELD / 2) * np.array([max(aspect, 1.0), max(1 / aspect, 1.0)])
        distance = float((np.abs(seen[:, :2]) * ROOM / half + seen[:, 2:]).max())
        extent = float(np.linalg.norm(np.ptp(points, axis=0)))
        return Camera(target + max(distance, 1.2 * extent, 1e-9) * back, target, axes)

    def seen(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The projections (..., 2) of points (..., 3), 1 being half the width of the picture, and their depths (...)."""
        x = (points - self.eye) @ self.axes.T
        depth = -x[..., 2]
        return x[..., :2] / (np.maximum(depth, 1e-12) * np.tan(FIELD / 2))[..., None], depth


def direction(up: np.ndarray, azimuth: float, elevation: float) -> np.ndarray:
    """A direction by its angles in degrees: azimuth about `up` from the x axis, elevation towards `up`."""
    first = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    x = first - (first @ up) * up
    x /= np.linalg.norm(x)
    a, e = np.radians(azimuth), np.radians(np.clip(elevation, -89.0, 89.0))
    return np.cos(e) * (np.cos(a) * x + np.sin(a) * np.cross(up, x)) + np.sin(e) * up
