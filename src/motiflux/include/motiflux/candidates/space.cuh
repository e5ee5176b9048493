// The kernels that make a candidate space, in launch order. All but place_tiles, which is for one warp, take
// a grid of any size.
#pragma once

#include "motiflux/candidates/rows.hpp"

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_space_start(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::start(args);
}

extern "C" __global__ void motiflux_space_sweep(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::sweep(args);
}

extern "C" __global__ void motiflux_space_measure(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::measure(args);
}

extern "C" __global__ void motiflux_space_add_tiles(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::add_tiles(args);
}

extern "C" __global__ void motiflux_space_place_tiles(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::place_tiles(args);
}

extern "C" __global__ void motiflux_space_place_rows(
    const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::place_rows(args);
}

extern "C" __global__ void motiflux_space_fill(const __grid_constant__ motiflux::candidates::SpaceArgs args) {
  motiflux::candidates::fill(args);
}

#endif
