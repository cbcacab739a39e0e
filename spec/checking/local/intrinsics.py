"""Intrinsics: instructions that kernels need and numba does not offer, each defined on top of equivalent Python.

The Python function is the *twin*, which shows the meaning. Compiled code uses the instruction instead; where kernels
are not compiled (`jit.PLAIN`), the twin runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba.core import cgutils, config, types
from numba.extending import intrinsic

from spec.checking.local.jit import PLAIN, Array

F = TypeVar("F", bound=Callable[..., Any])
_Typing = Callable[..., Any]
"""For `numba.extending.intrinsic`: maps argument types to the signature and a code generator."""

TWINS: Final[dict[str, Callable[..., Any]]] = {}
"""The twins by name."""


def _instruction(typing: _Typing) -> Callable[[F], F]:
    """Replaces a Python function by an instruction in compiled code."""

    def decorate(twin: F) -> F:
        TWINS[twin.__name__] = twin
        made: F = twin if PLAIN else intrinsic(typing)
        return made

    return decorate


def _gathers() -> bool:
    """Whether this machine gathers bits of a word quickly."""
    if config.CPU_NAME or config.CPU_FEATURES:
        return False
    return bool(get_host_cpu_features().get("bmi2")) and get_host_cpu_name() not in {"znver1", "znver2"}


GATHERS: Final = _gathers()
"""Whether the bits of a field may be anywhere in a word; otherwise they are neighbours."""


def _cttz(typingctx: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.uint64(types.uint64), generate


@_instruction(_cttz)
def trailing_zeros(word: Any) -> Any:
    """The number of the lowest bit that is set; 64 if none is."""
    bits = int(word)
    return np.uint64((bits & -bits).bit_length() - 1 if bits else 64)


def _llvm_prefetch(typingctx: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        function = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        callee = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
        builder.call(callee, [place, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@_instruction(_llvm_prefetch)
def prefetch(array: Array, at: int) -> None:
    """Prefetch an item that will be needed soon. The place may be past the end: nothing is read."""


def _llvm_load(typingctx: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_word_at(context, builder, signature, args), align=1)

    return types.uint64(array, types.intp), generate


def _llvm_store(typingctx: Any, array: Any, at: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _word_at(context, builder, signature, args), align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


def _word_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The address of a word that begins with this byte."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())


@_instruction(_llvm_load)
def load(array: Array, at: int) -> Any:
    """The word that begins with this byte of an array, wherever that is."""
    return array[at : at + 8].view(np.uint64)[0]


@_instruction(_llvm_store)
def store(array: Array, at: int, word: Any) -> None:
    """Write a word that begins with this byte of an array, wherever that is."""
    array[at : at + 8].view(np.uint64)[0] = word


def _pext(typingctx: Any, word: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        if GATHERS:
            function = ir.FunctionType(word, [word, word])
            callee = cgutils.get_or_insert_function(builder.module, function, "llvm.x86.bmi.pext.64")
            return builder.call(callee, args)
        nothing = builder.icmp_unsigned("==", args[1], word(0))
        shift = builder.select(nothing, word(0), builder.cttz(args[1], ir.IntType(1)(0)))
        return builder.lshr(builder.and_(*args), shift)

    return types.uint64(types.uint64, types.uint64), generate


@_instruction(_pext)
def gathered(word: Any, mask: Any) -> Any:
    """These bits of a word, side by side; they must be neighbours, unless this machine `GATHERS`."""
    bits, left, found, place = int(word), int(mask), 0, 0
    while left:
        lowest = left & -left
        found |= bool(bits & lowest) << place
        place += 1
        left ^= lowest
    return np.uint64(found)
