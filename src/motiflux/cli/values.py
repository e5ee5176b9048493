"""The values of options: their conversion, their errors, and the completions of a shell."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import functools
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

Converter = Callable[[Any], Any]


def take_values(params: Iterable[Any]) -> None:
    """Have each parameter convert its texts here.

    Recent versions of typer import pydantic for this, which takes longer than most that a command imports.
    Other versions convert by themselves.
    """
    for param in params:
        if "process_value" not in vars(param) and hasattr(param, "get_runtime_param"):
            descriptor = param.type_descriptor
            converter = _converter_of(descriptor.annotation, descriptor.parameter_info)
            if converter is not None:
                param.process_value = functools.partial(_value_of, param, converter, param.process_value)


def _value_of(param: Any, convert: Converter, otherwise: Callable[..., Any], ctx: Any, given: Any) -> Any:
    """Return the value of a parameter; `otherwise` reports a missing one."""
    several = param.multiple or param.nargs == -1
    if given is None or (several and not given):
        if param.required and not ctx.resilient_parsing:
            return otherwise(ctx, given)
        value: Any = () if several else None
    else:
        try:
            value = tuple(convert(one) for one in given) if several else convert(given)
        except typer.BadParameter as error:
            raise typer.BadParameter(error.message, ctx=ctx, param=param) from None
        for one in value if several else (value,):
            _check_range(one, param, ctx)
    return value if param.callback is None else param.callback(ctx, param, value)


def _check_range(value: Any, param: Any, ctx: Any) -> None:
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = [
            f"at least {least}" if least is not None else "",
            f"at most {most}" if most is not None else "",
        ]
        expected = " and ".join(bound for bound in bounds if bound)
        raise typer.BadParameter(f"expected a number of {expected}, found {value}", ctx=ctx, param=param)


def _converter_of(annotation: Any, about: Any) -> Converter | None:
    """Return the conversion of one value; None where typer has to do it."""
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
    if about.parser is not None:
        return functools.partial(_parsed, about.parser)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return functools.partial(_choice, annotation)
    known: dict[Any, Converter] = {bool: _flag, int: _integer, float: _number, str: str, Path: Path}
    return known.get(annotation)


def _parsed(parser: Converter, value: Any) -> Any:
    return parser(value) if isinstance(value, str) else value


def _choice(kind: type[Enum], value: Any) -> Any:
    if isinstance(value, kind):
        return value
    words = [str(one.value) for one in kind]
    if value not in words:
        raise typer.BadParameter(f"expected one of {', '.join(words)}, found {value!r}")
    return kind(value)


def _flag(value: Any) -> bool:
    return bool(value)


def _integer(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise typer.BadParameter(f"expected an integer, found {value!r}") from None


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise typer.BadParameter(f"expected a number, found {value!r}") from None


def starting_with(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return the function of a parameter that offers words to a shell."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return offered


BUNDLED = ("wordnet",)
"""Names of the graphs in `motiflux.datasets`, which would take long to import."""


def graph_words(incomplete: str) -> list[str]:
    """Return the datasets and files that start so; nothing if no dataset does: a shell then offers files."""
    names = [name for name in BUNDLED if incomplete and name.startswith(incomplete)]
    return names + [file.name for file in Path().glob(f"{incomplete}*")] if names else []


def device_words() -> list[str]:
    """Return the values of ``--device``; a machine has at most as many GPUs as are offered here."""
    return ["auto", "cpu", "cuda", *(f"cuda:{ordinal}" for ordinal in range(8))]


def tuning_words() -> list[str]:
    """Return every ``KEY=VALUE`` that ``--set`` takes."""
    from motiflux.config import TUNING

    return [f"{name}={value}" for name, option in TUNING.items() for value in option.values]
