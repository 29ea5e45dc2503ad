"""The kernel of a search: its text, its call, and the requests for other calls of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tirlens import pipeline
from tirlens.hardware import Device
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.options import Options
from tirlens.source import KernelSource, SourceFile
from tirlens.tuning.stages import Group, StageParameters, stage_parameters
from tirlens_worker.protocol import Analyze, CallCandidate, KernelRequest


class SubjectError(ValueError):
    """There is no kernel to search for, or it cannot be chosen."""


@dataclass(frozen=True)
class Subject:
    """A kernel of a text, and the request that analyses it alone.

    `sizes` are those of dynamic dimensions, before all others that are given.
    """

    kernel: KernelSource
    options: Options
    template: Analyze
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def bindings(self) -> Mapping[str, int]:
        """The sizes of dynamic dimensions that are given."""
        return {**self.options.bindings_for(self.kernel), **self.sizes}

    def with_sizes(self, sizes: Mapping[str, int]) -> Subject:
        """The kernel with these sizes of dynamic dimensions."""
        if not sizes:
            return self
        kernel = self.template.kernels[0]
        kernel = replace(kernel, bindings={**kernel.bindings, **sizes})
        template = replace(self.template, kernels=(kernel,))
        return replace(self, template=template, sizes={**self.sizes, **sizes})

    def with_call(self, call: str) -> Subject:
        """The kernel with one call in place of those that its text gives."""
        return replace(self, template=self.request_for([call]))

    @property
    def request(self) -> Analyze:
        """The request for the kernel with the call of an analysis, and its configurations."""
        return self._with_kernel(replace(self.template.kernels[0], with_configurations=True))

    def request_for(
        self, calls: Sequence[str], bindings: Mapping[str, int] | None = None
    ) -> Analyze:
        """The request for the kernel with each of `calls`."""
        candidates = tuple(
            CallCandidate(call, "option", self.kernel.span, required=True) for call in calls
        )
        kernel = replace(self.template.kernels[0], candidates=candidates)
        return self._with_kernel(kernel)

    def groups(self, calls: Sequence[str]) -> tuple[Group, ...]:
        """All of `calls`, in groups that differ only in the stages of their loops."""
        return self._stage_parameters.groups(calls)

    @cached_property
    def _stage_parameters(self) -> StageParameters:
        return stage_parameters(self.template.text, self.kernel)

    def devices(self, named: Sequence[str]) -> tuple[Device, ...]:
        """The devices that the user names, else the one of the kernel.

        Raises:
            DeviceError: there is none of a name.
        """
        choices = [
            choose_device(
                self.kernel,
                None,
                replace(self.options, device=name, force_device=len(named) > 1),
            ).device
            for name in named or [None]
        ]
        return tuple(choices)

    def _with_kernel(self, kernel: KernelRequest) -> Analyze:
        return replace(self.template, kernels=(kernel,))


def subject_of(path: str, text: str, source: SourceFile, options: Options) -> Subject:
    """The one kernel that `options` select in a text; of several, the only one that is autotuned.

    Raises:
        SubjectError: there is none, or there are several.
    """
    template = pipeline.analysis_request(1, path, text, source, options)
    if not template.kernels:
        raise SubjectError(f"no kernel in {path} that these options select")
    chosen = template.kernels
    if len(chosen) > 1:
        tuned = {item.span for item in source.kernels if item.is_autotuned}
        chosen = tuple(item for item in chosen if item.span in tuned)
    if len(chosen) != 1:
        names = ", ".join(dict.fromkeys(item.name for item in (chosen or template.kernels)[:8]))
        raise SubjectError(f"--kernel NAME chooses one of the kernels {names}")
    request = chosen[0]
    kernel = next(
        item for item in source.kernels if (item.name, item.span) == (request.name, request.span)
    )
    return Subject(kernel, options, replace(template, kernels=(request,)))
