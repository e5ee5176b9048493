// The shape of a pattern with a universal vertex: run-time data, or constants known to the compiler.
//
// A kernel reads a level with shape.at(level, use), which calls use(step), as for plans.
#pragma once

#include "motiflux/match/universal_vertex_task.hpp"

namespace motiflux::match {

class RuntimeUniversalVertex {
 public:
  MOTIFLUX_DEVICE explicit RuntimeUniversalVertex(const UniversalVertexShape& shape) : shape_(shape) {}

  MOTIFLUX_DEVICE std::uint32_t levels() const { return shape_.levels; }
  MOTIFLUX_DEVICE std::uint32_t lanes() const { return shape_.lanes; }
  MOTIFLUX_DEVICE std::uint32_t bases() const { return shape_.bases; }
  MOTIFLUX_DEVICE UniversalVertexClosedForm close() const { return shape_.close; }
  MOTIFLUX_DEVICE UniversalVertexBase base(std::uint32_t number) const { return shape_.base[number]; }
  MOTIFLUX_DEVICE std::uint32_t renewed(std::uint32_t level) const { return shape_.renewed[level]; }

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return use(shape_.step[level]);
  }

 private:
  const UniversalVertexShape& shape_;
};

// Shape has a `static constexpr UniversalVertexShape kShape`. Values read once per neighbourhood, or per
// vertex that a warp takes, remain data.
template <class Shape>
class StaticUniversalVertex {
 public:
  MOTIFLUX_DEVICE explicit StaticUniversalVertex(const UniversalVertexShape& shape) : shape_(shape) {}

  static MOTIFLUX_DEVICE constexpr std::uint32_t levels() { return Shape::kShape.levels; }
  static MOTIFLUX_DEVICE constexpr std::uint32_t lanes() { return Shape::kShape.lanes; }
  static MOTIFLUX_DEVICE constexpr std::uint32_t bases() { return Shape::kShape.bases; }
  static MOTIFLUX_DEVICE constexpr UniversalVertexClosedForm close() { return Shape::kShape.close; }
  MOTIFLUX_DEVICE UniversalVertexBase base(std::uint32_t number) const { return shape_.base[number]; }
  MOTIFLUX_DEVICE std::uint32_t renewed(std::uint32_t level) const { return shape_.renewed[level]; }

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return at_or_above<0>(level, use);
  }

 private:
  template <std::uint32_t Level, class Use>
  MOTIFLUX_DEVICE auto at_or_above(std::uint32_t level, Use& use) const {
    if constexpr (Level + 1 < Shape::kShape.levels)
      if (level != Level) return at_or_above<Level + 1>(level, use);
    constexpr UniversalVertexStep kStep = Shape::kShape.step[Level];
    return use(kStep);
  }

  const UniversalVertexShape& shape_;
};

}  // namespace motiflux::match
