"""Rasterises triangles to pixels with a depth buffer."""

import numpy as np

FINE = 2  # supersampling: pixels are drawn this many times finer in both directions, then averaged
CHUNK = 1 << 19  # pixels that are processed at once


class Raster:
    """A picture of triangles with smooth colours, transparent where there are none; x and y in pixels, y up."""

    def __init__(self, width: int, height: int):
        self.width, self.height = FINE * width, FINE * height
        self.nearness = np.zeros(self.height * self.width, np.float32)  # 1 / depth
        self.color = np.zeros((self.height * self.width, 4), np.float32)  # alpha last, colours times alpha

    def add(self, xy, depth, rgba) -> None:
        """Draw triangles at xy (m, 3, 2) with a depth (m, 3) and a colour (m, 3, 4) at each corner. Transparent ones are
        drawn last, from far to near, and hide nothing."""
        area = _cross(xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0])
        xy, depth, rgba = xy[area != 0], depth[area != 0], rgba[area != 0]
        clear = rgba[:, :, 3].min(1) < 1
        order = np.lexsort((-depth.mean(1) * clear, clear))
        xy, near, rgba = FINE * xy[order], (1 / depth[order]).astype(np.float32), rgba[order].astype(np.float32)
        low = np.clip(np.floor(xy.min(1)), 0, (self.width, self.height)).astype(np.int32)
        size = np.clip(np.ceil(xy.max(1)), 0, (self.width, self.height)).astype(np.int32) - low
        solid = int((~clear).sum())
        ends = np.flatnonzero(np.diff(np.cumsum(size[:solid].prod(1)) // CHUNK)) + 1
        for which in np.split(np.arange(solid), ends):
            pixel, z, paint = self._inside(xy[which], near[which], rgba[which], low[which], size[which])
            nearest = np.argsort(z, kind="stable")  # of several on one pixel the last stays
            self.color[pixel[nearest]], self.nearness[pixel[nearest]] = paint[nearest], z[nearest]
        for which in np.arange(solid, len(xy))[:, None]:
            pixel, _, paint = self._inside(xy[which], near[which], rgba[which], low[which], size[which])
            paint[:, :3] *= paint[:, 3:]
            self.color[pixel] = paint + (1 - paint[:, 3:]) * self.color[pixel]

    def _inside(self, xy, near, rgba, low, size):
        """The visible pixels of some triangles, their inverse depths, and their colours."""
        count = size.prod(1)
        which = np.repeat(np.arange(len(xy)), count)
        row, column = np.divmod(np.arange(len(which)) - (np.cumsum(count) - count)[which], size[which, 0])
        corners = xy - low[:, None] - 0.5
        turned = np.roll(corners, -1, 1), np.roll(corners, -2, 1)
        area = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, None, None]
        a, b = turned[0][..., 1:] - turned[1][..., 1:], turned[1][..., :1] - turned[0][..., :1]
        plane = np.concatenate([a, b, _cross(turned[0], turned[1])[..., None]], -1) / area  # weights a x + b y + c
        x, y = column.astype(np.float32), row.astype(np.float32)
        weights = [(p := plane[:, i].astype(np.float32)[which])[:, 0] * x + p[:, 1] * y + p[:, 2] for i in range(3)]
        z = sum(near[which, i] * w for i, w in enumerate(weights))
        pixel = (low[which, 1] + row) * self.width + low[which, 0] + column
        inside = np.minimum(np.minimum(weights[0], weights[1]), weights[2]) >= 0
        keep = np.flatnonzero(inside & (z > self.nearness[pixel]))
        paint = sum(rgba[which[keep], i] * w[keep, None] for i, w in enumerate(weights))
        return pixel[keep], z[keep], paint

    def image(self) -> np.ndarray:
        """RGBA (height, width, 4), the first row at the bottom."""
        fine = self.color.reshape(self.height // FINE, FINE, self.width // FINE, FINE, 4)
        mean = np.add.reduce([fine[:, i, :, j] for i in range(FINE) for j in range(FINE)]) / np.float32(FINE * FINE)
        alpha = mean[..., 3:]
        mean[..., :3] = np.divide(mean[..., :3], alpha, out=np.zeros_like(mean[..., :3]), where=alpha > 0)
        return np.clip(mean, 0, 1)


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
