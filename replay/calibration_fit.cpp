#include "replay/calibration_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace remaplab {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// What a term is multiplied by.
double FactorOf(CostTerm term, const CallQuantities& quantities) {
  const double chunks = static_cast<double>(quantities.chunks);
  switch (term) {
    case CostTerm::kFixed:
      return 1;
    case CostTerm::kPerChunk:
      return chunks;
    case CostTerm::kPerChunkSquared:
      return chunks * chunks;
    case CostTerm::kPerMib:
      return static_cast<double>(quantities.bytes) / kMiB;
    case CostTerm::kUnchangedPerChunk:
      return static_cast<double>(quantities.unchanged_chunks);
    case CostTerm::kPerCommand:
      return quantities.commands;
    case CostTerm::kPerChangedSlot:
      return quantities.changed_slots;
    default:
      return 0;
  }
}

constexpr std::array kCandidates = {CostTerm::kFixed,         CostTerm::kPerChunk,          CostTerm::kPerChunkSquared,
                                    CostTerm::kPerMib,        CostTerm::kUnchangedPerChunk, CostTerm::kPerCommand,
                                    CostTerm::kPerChangedSlot};

// Terms that the model has for this kind and whose factor is not the same everywhere (but for the fixed one).
std::vector<CostTerm> TermsFor(CallKind kind, std::span<const CalibrationPoint* const> points) {
  std::vector<CostTerm> terms;
  for (const CostTerm term : kCandidates) {
    const bool varies = std::any_of(points.begin(), points.end(), [&](const CalibrationPoint* point) {
      return FactorOf(term, point->quantities) != FactorOf(term, points[0]->quantities);
    });
    const bool gpu_time = kind == CallKind::kCopy && term == CostTerm::kPerMib;
    if (HasTerm(kind, term) && !gpu_time && (term == CostTerm::kFixed || varies)) {
      terms.push_back(term);
    }
  }
  return terms;
}

// Coordinate descent on sum((a x / y - 1)^2) with x >= 0: the problem is convex and has a handful of terms.
std::vector<double> SolveNonNegative(const std::vector<std::vector<double>>& rows) {
  const size_t terms = rows[0].size();
  std::vector<double> x(terms, 0);
  std::vector<double> residual(rows.size(), 1);  // 1 - sum of the terms so far
  for (int sweep = 0; sweep < 20'000; ++sweep) {
    double moved = 0;
    for (size_t j = 0; j < terms; ++j) {
      double dot = 0;
      double norm = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        dot += rows[i][j] * residual[i];
        norm += rows[i][j] * rows[i][j];
      }
      const double next = norm > 0 ? std::max(0.0, x[j] + dot / norm) : 0;
      const double step = next - x[j];
      for (size_t i = 0; i < rows.size() && step != 0; ++i) {
        residual[i] -= rows[i][j] * step;
      }
      x[j] = next;
      moved = std::max(moved, std::abs(step) * std::sqrt(norm));
    }
    if (moved < 1e-12) {
      break;
    }
  }
  return x;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

std::vector<const CalibrationPoint*> Select(CallKind kind, bool busy, std::span<const CalibrationPoint> points) {
  std::vector<const CalibrationPoint*> selected;
  for (const CalibrationPoint& point : points) {
    if (point.kind == kind && point.quantities.contended == busy && point.median_ns > 0) {
      selected.push_back(&point);
    }
  }
  return selected;
}

}  // namespace

double PredictNs(const KindFit& fit, const CallQuantities& quantities) {
  double ns = 0;
  for (const auto& [term, value] : fit.terms) {
    ns += value * FactorOf(term, quantities);
  }
  return ns;
}

Result<KindFit> FitKind(CallKind kind, std::span<const CalibrationPoint> points) {
  const std::vector<const CalibrationPoint*> idle = Select(kind, false, points);
  if (idle.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: nothing was measured", Name(kind)));
  }
  const std::vector<CostTerm> terms = TermsFor(kind, idle);
  std::vector<std::vector<double>> rows;
  for (const CalibrationPoint* point : idle) {
    std::vector<double>& row = rows.emplace_back();
    for (const CostTerm term : terms) {
      row.push_back(FactorOf(term, point->quantities) / point->median_ns);
    }
  }
  const std::vector<double> values = SolveNonNegative(rows);
  KindFit fit{.kind = kind, .terms = {}, .median_residual = 0};
  for (size_t j = 0; j < terms.size(); ++j) {
    if (values[j] > 0) {
      fit.terms.emplace_back(terms[j], values[j]);
    }
  }
  std::vector<double> residuals;
  std::vector<double> seen;
  for (const CalibrationPoint* point : idle) {
    const double off = std::abs(PredictNs(fit, point->quantities) - point->median_ns);
    residuals.push_back(off / point->median_ns);
    seen.push_back(off > kUnseenNs ? residuals.back() : 0);
  }
  fit.median_residual = MedianOf(std::move(residuals));
  if (MedianOf(std::move(seen)) > kWorstFit) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: the fit is bad: half of its {} points are off by more than {:.0f} %", Name(kind),
                            idle.size(), fit.median_residual * 100));
  }
  return fit;
}

Result<KindFit> FitCopyGpuTime(std::span<const CalibrationPoint> points) {
  if (points.empty()) {
    return Fail(ErrorCode::kUsage, "copy: no GPU time was measured");
  }
  std::vector<std::vector<double>> rows;
  for (const CalibrationPoint& point : points) {
    rows.push_back({1 / point.median_ns, FactorOf(CostTerm::kPerMib, point.quantities) / point.median_ns});
  }
  const std::vector<double> values = SolveNonNegative(rows);
  return KindFit{.kind = CallKind::kCopy,
                 .terms = {{CostTerm::kFixed, values[0]}, {CostTerm::kPerMib, values[1]}},
                 .median_residual = 0};
}

double FitContention(const KindFit& fit, std::span<const CalibrationPoint> points) {
  std::vector<double> ratios;
  for (const CalibrationPoint* point : Select(fit.kind, true, points)) {
    ratios.push_back(point->median_ns / std::max(1.0, PredictNs(fit, point->quantities)));
  }
  return ratios.empty() ? 1 : std::max(1.0, MedianOf(std::move(ratios)));
}

}  // namespace remaplab
