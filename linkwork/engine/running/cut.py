"""A compiled function with holes: Python functions that are called between its kernels (holes.py)."""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Any, cast

import numpy as np

from ..loading import compiler
from ..loading.call import arrays_are_as_known, call
from ..loading.compiled import Compiled, compiled
from ..loading.gufunc import LoopData
from ..loading.kernel import Kernel
from ..tracing.program import Input
from .holes import ANSWER, GIVEN, LIVE, Division, Part
from .repeat import Form


class Cut:
    """A compiled function of one sample with holes: kernels k0, k1 ... kn, between which Python is called.

    `function` is of (holes, arrays...). It calls holes(name, shape, arguments...) where a Python function is to be called, which is given
    by its name when the program runs. With `content`, as of a Kernel, nothing is traced that is on disk.
    """

    def __init__(self, name: str, function: Callable, inputs: tuple[Input, ...], content: object = None):
        self.name, self.function, self.inputs, self.content = name, function, inputs, content

    @cached_property
    def division(self) -> Division:
        """The traced program and its parts."""
        return Division(self.name, self.function, self.inputs)

    @cached_property
    def _compiled(self) -> Compiled:
        """The code of all parts and routines, and what is told of them, from disk or newly made."""
        kernel = Kernel(self.name, self.function, self.inputs, self.content, lambda *_: self.division.program)
        return compiled(kernel, ("cut",), "double", lambda _: self._text(), told=self._told)

    def _text(self) -> str:
        cut = self.division
        first = accumulate(map(len, cut.live), initial=0)
        index = lambda program: [x.name for x in program.inputs].index(LIVE)
        places = [(index(program), n) if made else None for program, n, made in zip(cut.programs, first, cut.live)]
        return compiler.calls_text([*cut.programs, *cut.called], places + [None] * len(cut.called), "double")

    def _told(self) -> dict:
        """The parts, how many numbers each routine takes and returns, and how many each part makes for later ones."""
        routines = [(x.inputs[0].size, x.outputs[0].size) for x in self.division.called]
        return {"parts": self.division.parts, "routines": routines, "made": list(map(len, self.division.live))}

    @cached_property
    def parts(self) -> list[Part]:
        """The parts in order."""
        return [Part(*_tuples(x)) for x in self._compiled.header["parts"]]

    @cached_property
    def functions(self) -> list[Callable]:
        """The compiled parts, then the routines: functions of arrays that return a new array."""
        sizes = [(part.sizes, part.results) for part in self.parts]
        sizes += [((n,), results) for n, results in self._compiled.header["routines"]]
        loaded = compiler.Code(self._compiled.code, *(f"{kind}{k}" for kind in ("loop", "call") for k in range(len(sizes))))
        addresses = zip(loaded.addresses, loaded.addresses[len(sizes) :])
        return [_function(f"{self.name}_{k}", loaded, *x, *y) for k, (x, y) in enumerate(zip(addresses, sizes))]

    @cached_property
    def slices(self) -> list[slice]:
        """Where each result is in the array of all results."""
        return _places(self.parts[-1].shapes)

    @cached_property
    def _runs(self) -> list[tuple]:
        """Of each part: its kernel, which arrays it takes, then where in its results is what."""
        runs, routines = [], self.functions[len(self.parts) :]
        for part, function in zip(self.parts, self.functions):
            places = _places(part.shapes)
            arguments = [_argument_at(*x) for x in zip(places, part.shapes)]
            end = places[-1].stop if places else 0
            routine = None if part.routine is None else routines[part.routine]
            early = slice(end + 1, end + part.early) if part.early else None
            takes = [(GIVEN, LIVE, ANSWER).index(x) for x in part.takes]
            assert routine is None or early is None
            runs.append((function, takes, part.hole, routine, arguments, end, early))
        return runs

    def on_arrays(self, *arrays: np.ndarray, **functions: Callable) -> np.ndarray:
        """All results of one sample, from its inputs (1, shape...)."""
        return self(functions, np.concatenate([x.ravel() for x in arrays]))

    @cached_property
    def room(self) -> int:
        """How many numbers travel."""
        return sum(self._compiled.header["made"])

    def __call__(self, functions: Mapping[str, Callable], given: np.ndarray) -> np.ndarray:
        """All results of one sample in one array, from all inputs in one array; `functions` are those of the holes by name. Their
        arguments are read only; an answer is an array of floats of the shape that the hole has."""
        at: list[Any] = [given, np.empty(self.room), None]
        for run, takes, hole, routine, arguments, end, early in self._runs:
            out = run(*[at[i] for i in takes])
            if early is not None and out[end]:
                return out[early]
            if hole:
                out.flags.writeable = False
                at[2] = functions[hole](*[out[place] if shape is None else out[place].reshape(shape) for place, shape in arguments])
            elif routine is not None:
                at[2] = routine(out)
        return out

    @cached_property
    def _kernels(self) -> list[np.ufunc]:
        """The parts, then the routines, for batches."""
        sizes = [*(zip(part.takes, part.sizes) for part in self.parts), *([(GIVEN, n)] for n, _ in self._compiled.header["routines"])]
        made = [tuple(Input(name, (size,)) for name, size in each) for each in sizes]
        return [self._kernel(k, inputs).gufunc("d") for k, inputs in enumerate(made)]

    def _kernel(self, k: int, inputs: tuple[Input, ...]) -> Kernel:
        content = None if self.content is None else (self.content, "part", k)
        return Kernel(f"{self.name}_{k}", self.function, inputs, content, lambda *_: [*self.division.programs, *self.division.called][k])

    def many(self, functions: Mapping[str, Callable], given: np.ndarray) -> np.ndarray:
        """All results (samples, ...) of many samples, whose inputs are (samples, ...). Functions are called for all of them at once;
        samples that could end early go on."""
        at: list[Any] = [given, np.empty((len(given), self.room)), None]
        routines, first = self._kernels[len(self.parts) :], accumulate(self._compiled.header["made"], initial=0)
        for part, kernel, (_, takes, hole, _, arguments, end, _), place in zip(self.parts, self._kernels, self._runs, first):
            made = kernel(*[at[i] for i in takes])
            if isinstance(made, tuple):
                made, live = made
                at[1][:, place : place + live.shape[1]] = live
            out = made[:, :end]
            if hole:
                out.flags.writeable = False
                answers = functions[hole](*[out[:, x] if shape is None else out[:, x].reshape(-1, *shape) for x, shape in arguments])
                at[2] = answers.reshape(len(given), -1)
            elif part.routine is not None:
                at[2] = routines[part.routine](out)
        return out


def _places(shapes: Iterable[tuple[int, ...]]) -> list[slice]:
    """Where arrays are that lie side by side in one."""
    return [slice(*x) for x in pairwise(accumulate(map(prod, shapes), initial=0))]


def _argument_at(place: slice, shape: tuple[int, ...]) -> tuple[int | slice, tuple[int, ...] | None]:
    """Where an argument is in an array, and its shape if it is neither a number nor a vector."""
    return (place, None if len(shape) == 1 else shape) if shape else (place.start, None)


def _function(name: str, code: compiler.Code, loop: int, quick: int, inputs: tuple[int, ...], results: int) -> Callable:
    """A function of arrays of these sizes; of what its quick form does not serve, the general one takes a copy that suits."""
    run, data = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop), LoopData()

    def general(*arrays):
        """Any arrays of these sizes."""
        each, out = [np.ascontiguousarray(x, float) for x in arrays], np.empty(results)
        if [x.size for x in each] != list(inputs):
            raise ValueError(f"{name} takes {inputs} numbers, not {tuple(x.size for x in each)}")
        run((ctypes.c_void_p * (len(each) + 1))(*(x.ctypes.data for x in (*each, out))), None, None, data.address)
        return out

    general.code = code  # type: ignore[attr-defined]  # which it holds
    general.__name__ = name
    return call(general, quick, data, "double") if arrays_are_as_known() else general


def _tuples(x):
    """Lists, as a file has them, as tuples."""
    return tuple(map(_tuples, x)) if isinstance(x, list) else x


def side_by_side(shapes: Iterable[tuple[int, ...]]) -> list[np.ndarray]:
    """Arrays (1, shape...) for one sample, which lie side by side in one array."""
    shapes = list(shapes)
    whole = np.zeros(sum(map(prod, shapes)))
    return [whole[place].reshape(1, *shape) for place, shape in zip(_places(shapes), shapes)]


class PausedRepeat:
    """A cut function repeated on its own results, for one sample, in the place of a Repeat (repeat.py) of a form that keeps and leaves."""

    def __init__(self, cut: Cut, form: Form):
        self.cut, self.states = cut, form.states

    def rounds(
        self, arrays: list[np.ndarray], rows: list[np.ndarray], counts: np.ndarray, capacity: int, enough: Callable, **functions: Callable
    ) -> None:
        """As of a Repeat, with the functions of the holes; arrays are side by side in one (`side_by_side`). It ends behind a row where
        enough(states) is true. If a function raises, states and rows are those of the last row that is kept."""
        given, places = cast(np.ndarray, arrays[0].base), self.cut.slices
        changed = places[self.states - 1].stop
        kept, start, done = list[np.ndarray](), given[:changed].copy(), 0.0
        try:
            while not done and len(kept) < capacity:
                out = self.cut(functions, given)
                given[:changed] = out[:changed]
                keep, done = out[-2:]
                if keep:
                    kept.append(out)
                    done = done or enough(out)
        except BaseException:
            given[:changed] = kept[-1][:changed] if kept else start
            raise
        finally:
            counts[0] = n = len(kept)
            made = kept[0][None] if n == 1 else np.array(kept).reshape(n, places[-1].stop)
            for x, place in zip(rows, places[self.states :]):
                x[0, :n] = made[:, place].reshape(n, *x.shape[2:])


class PausedBatch:
    """A cut function repeated on its own results, for many samples, in the place of a Repeat. In each round functions are called for all
    samples at once, those that are done among them."""

    def __init__(self, cut: Cut, form: Form):
        self.cut, self.states = cut, form.states

    def rounds(
        self, arrays: list[np.ndarray], rows: list[np.ndarray], counts: np.ndarray, capacity: int, enough: Callable, **functions: Callable
    ) -> None:
        """As of a Repeat, with the functions of the holes; it ends behind a round where enough(states) is true."""
        given, places = np.concatenate([x.reshape(len(counts), -1) for x in arrays], 1), self.cut.slices
        changed, active = places[self.states - 1].stop, np.ones(len(counts), bool)
        counts[:] = 0
        while active.any():
            out = self.cut.many(functions, given)
            given[active, :changed] = out[active, :changed]
            kept = np.flatnonzero(active & (out[:, -2] != 0))
            for x, place in zip(rows, places[self.states :]):
                x[kept, counts[kept].astype(int)] = out[kept, place].reshape(len(kept), *x.shape[2:])
            counts[kept] += 1
            active &= (out[:, -1] == 0) & (counts < capacity)
            if enough(given):
                break
        for x, place in zip(arrays[: self.states], places):
            x[...] = given[:, place].reshape(x.shape)

    def on_arrays(self, *arrays: np.ndarray, **functions: Callable) -> np.ndarray:
        """The first result of one round, a number for each sample, from inputs (samples, shape...)."""
        return self.cut.many(functions, np.concatenate([x.reshape(len(x), -1) for x in arrays], 1))[:, 0]
