"""What a user asks of an analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tirlens.budget import NO_BUDGET, Budget
from tirlens.settings import DEFAULT_TIMEOUT_S, Settings
from tirlens.source.source_file import KernelSource

MOST_CALLS = 32


@dataclass(frozen=True)
class Options:
    """The options of a command or the settings of an editor, and the project's own settings.

    `device` is an id or a path, which `force_device` puts before directives and the project
    (where devices are compared).  `calls` restrict the analysis to the kernels that they call;
    `math_fidelity` is that of matrix products on devices that have several.  `model` is the id of
    the language model whose sizes kernels have, which `force_model` puts before directives and the
    project.
    `kernels` to the names given, `*` and `?` as in file names.  `by_launches` restricts it
    to captured calls, and asks for all of them; `all_calls` asks for every call that is known, at
    most `MOST_CALLS` of a kernel.  `lower` asks for the second tier, `compile` for
    the third, where a compiler is at hand.
    """

    device: str | None = None
    force_device: bool = False
    math_fidelity: str | None = None
    model: str | None = None
    force_model: bool = False
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])
    calls: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    time_limit_s: float = DEFAULT_TIMEOUT_S
    by_launches: bool = False
    all_calls: bool = False
    advice: bool = True
    lower: bool = True
    compile: bool = True
    project: Settings = field(default_factory=Settings)

    def bindings_for(self, kernel: KernelSource | None) -> dict[str, int]:
        """Sizes by name; the directive's win over the project's, these over the option's."""
        near = kernel.bindings if kernel else {}
        return {**self.bindings, **self.project.bindings, **near}

    def model_for(self, kernel: KernelSource | None) -> str | None:
        """The id of the language model that the user names for a kernel."""
        near = kernel.model if kernel else None
        if self.force_model:
            return self.model
        return near or self.project.model or self.model

    def budget_for(self, kernel: KernelSource | None, definition: str) -> Budget:
        """What the kernel may take; the directive's limits win over the project's."""
        budget = NO_BUDGET
        for pattern, limits in self.project.budgets.items():
            if fnmatchcase(definition, pattern):
                budget = budget.merge(limits)
        return budget.merge(kernel.budget) if kernel else budget
