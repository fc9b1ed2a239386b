"""The text of one function for LLVM, line by line."""

from contextlib import contextmanager


class Text:
    """Lines of one function, with fresh names and loops whose counters live on the stack until they are promoted."""

    def __init__(self):
        self.entry: list[str] = []  # room on the stack, made once
        self.lines: list[str] = []
        self.count = 0
        self.around: list[str] = []  # labels of the loops around what is being written

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(text)

    def let(self, text: str) -> str:
        name = f"%{self.name()}"
        self.lines.append(f"{name} = {text}")
        return name

    def room(self, kind: str) -> str:
        """Room for something on the stack."""
        name = f"%{self.name('room')}"
        self.entry.append(f"{name} = alloca {kind}")
        return name

    def at(self, base: str, *offsets: str) -> str:
        """A pointer moved by bytes."""
        for offset in offsets:
            base = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return base

    def times(self, a: str, b) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def plus(self, a: str, b) -> str:
        return self.let(f"add i64 {a}, {b}")

    def word(self, base: str, offset: int, kind: str = "ptr") -> str:
        """The word so many bytes behind a pointer."""
        return self.let(f"load {kind}, ptr {self.at(base, str(offset))}")

    def element(self, array: str, index) -> str:
        return self.word(array, 8 * index, "i64")

    @contextmanager
    def loop(self, count: str, start: str = "0", step: str = "1"):
        """for i in range(start, count, step), i a name."""
        label = self.name("loop")
        counter = self.room("i64")
        self.do(f"store i64 {start}, ptr {counter}\nbr label %{label}head\n{label}head:")
        i = self.let(f"load i64, ptr {counter}")
        more = self.let(f"icmp slt i64 {i}, {count}")
        self.do(f"br i1 {more}, label %{label}body, label %{label}end\n{label}body:")
        self.around.append(label)
        yield i
        self.around.pop()
        self.do(f"store i64 {self.plus(i, step)}, ptr {counter}\nbr label %{label}head\n{label}end:")

    @contextmanager
    def forever(self):
        """A loop that only `leave` ends."""
        label = self.name("loop")
        self.do(f"br label %{label}head\n{label}head:")
        self.around.append(label)
        yield
        self.around.pop()
        self.do(f"br label %{label}head\n{label}end:")

    def leave(self, truth: str) -> None:
        """Leave the loop around here if this is true."""
        label = self.name("stay")
        self.do(f"br i1 {truth}, label %{self.around[-1]}end, label %{label}\n{label}:")

    @contextmanager
    def when(self, truth: str):
        label = self.name("if")
        self.do(f"br i1 {truth}, label %{label}then, label %{label}end\n{label}then:")
        yield
        self.do(f"br label %{label}end\n{label}end:")

    def choose(self, truth: str, then, otherwise) -> None:
        label = self.name("choice")
        self.do(f"br i1 {truth}, label %{label}then, label %{label}else\n{label}then:")
        then()
        self.do(f"br label %{label}end\n{label}else:")
        otherwise()
        self.do(f"br label %{label}end\n{label}end:")

    @property
    def body(self) -> list[str]:
        """All lines, room on the stack first."""
        return [*self.entry, *self.lines]

    def function(self, head: str) -> str:
        return f"define internal void @{head} {{\n" + "\n".join([*self.body, "ret void", "}"]) + "\n"
