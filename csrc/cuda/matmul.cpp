#include "cuda/matmul.hpp"

#include <stdexcept>
#include <string>

#include "arith/narrow.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/elementwise/planes.hpp"
#include "cuda/integers/integers.hpp"
#include "cuda/places.hpp"
#include "cuda/prepare.hpp"
#include "cuda/standard/standard.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/tiles/tiles.hpp"

namespace ozfp4::cuda {
namespace {

// A turn of a product, as all of its stages see it.
struct Run {
  const CudaPlan& plan;
  const CudaLayout& layout;
  const Turn& turn;
  char* workspace;
  const GemmStep* device_steps;
  const Stages& stages;

  std::int64_t matrices() const { return turn.result.stack.count() / plan.plan.width(); }
  const Schedule& schedule(const Block& block) const {
    return layout.pieces.empty() ? plan.schedule : layout.pieces[block.inners.count == layout.inners ? 0 : 1];
  }
  bool overlaps_multiply() const { return layout.tile.overlap_previous && stages.options().events.after_multiply == nullptr; }
};

DeviceResult block_of(DeviceResult result, const Block& block) {
  result.data += block.rows.first * result.row_stride + block.columns.first * result.column_stride;
  result.rows = block.rows.count;
  result.columns = block.columns.count;
  return result;
}

// Where multiply leaves a block of bytes, or of int32 that are parts of a sum.
Residues residues_at(const Run& run, std::int64_t offset) {
  Residues residues;
  residues.data = reinterpret_cast<std::uint8_t*>(run.workspace + offset);
  residues.pitch = run.layout.out_pitch;
  residues.matrix_stride = run.layout.rows * residues.pitch;
  residues.plane_stride = run.layout.tile.splits * run.matrices() * residues.matrix_stride;
  return residues;
}

// INT8 products are stored to where they belong: rows of adjacent int32, matrices one behind the other.
Residues words_of(const Turn& turn, const Block& block) {
  Residues words;
  words.data = reinterpret_cast<std::uint8_t*>(block_of(turn.result, block).data);
  words.pitch = turn.result.row_stride / 4;
  words.matrix_stride = turn.result.rows * words.pitch;
  return words;
}

PlaneArray array_of(const EncodedOperand& operand) {
  return cuda::array_of(operand.planes, narrow<int>(operand.scaled.view.encoded().stack.count(), "matrices of a turn"));
}

// All units and terms in one launch.
void multiply(const Run& run, const Preparation& prepared, const Block& block, const Residues& out) {
  const Schedule& schedule = run.schedule(block);
  const DeviceResult& result = run.turn.result;
  GemmProblem problem;
  problem.m = block.rows.count;
  problem.n = block.columns.count;
  problem.k = block.inners.count / run.plan.plan.width();
  problem.attach(schedule);
  problem.a = array_of(prepared.a_of(block));
  problem.b = array_of(prepared.b_of(block));
  const int first = run.plan.plan.is_complex ? 1 : 0;  // behind the axis of the parts
  problem.batch.rank = result.stack.rank - first;
  for (int i = 0; i < problem.batch.rank; ++i) {
    problem.batch.extent[i] = result.stack.extent[first + i];
    problem.batch.a_stride[i] = result.a_step[first + i];
    problem.batch.b_stride[i] = result.b_step[first + i];
  }
  problem.out = out.data;
  problem.out_pitch = out.pitch;
  problem.out_matrix_stride = out.matrix_stride;
  problem.device_steps = run.layout.pieces.empty() ? run.device_steps : nullptr;
  problem.moduli_used = prepared.moduli_used();
  run.stages.multiply(problem, run.layout.tile);
}

// The outputs of all splits of K, added to those of the first.
void add_splits(const Run& run, const Preparation& prepared, const Residues& first) {
  const int splits = run.layout.tile.splits;
  if (splits == 1) return;
  const std::int64_t bytes = first.plane_stride / splits;
  const ByteParts parts{first.data,
                        first.data + bytes,
                        bytes,
                        splits - 1,
                        first.plane_stride,
                        bytes,
                        prepared.moduli_used(),
                        run.overlaps_multiply()};
  run.stages.run(Stage::accumulate, [&](const LaunchOptions& to) { launch_add_bytes(run.plan.schedule, parts, to.stream); });
}

// The outputs of a further piece of K, added to those before.
void accumulate(const Run& run, const Block& block, const Residues& sum, const Residues& part) {
  const std::int64_t matrices = run.matrices();
  run.stages.run(Stage::accumulate, [&](const LaunchOptions& to) {
    if (!run.plan.integer) {
      const ByteParts parts{sum.data, part.data, 0, 1, sum.plane_stride, matrices * sum.matrix_stride};
      return launch_add_bytes(run.layout.pieces[0], parts, to.stream);
    }
    const auto words = [](const Residues& at) {
      return StridedMatrices{reinterpret_cast<char*>(at.data), ElementType::int32, 4 * at.pitch, 4, 4 * at.matrix_stride};
    };
    launch_combine({{matrices, block.rows.count, block.columns.count}, words(sum), words(part), words(sum), 1, 1}, to.stream,
                   Stage::accumulate);
  });
}

// Residues of the parts instead of those that multiply left. Behind the first modulus' first output, its real parts, lie its
// second, its imaginary parts: the matrices of the results in their order, from modulus to modulus.
void join_parts(const Run& run, const Preparation& prepared, const Residues& residues) {
  if (!run.plan.plan.is_complex) return;
  run.stages.run(Stage::accumulate, [&](const LaunchOptions& to) {
    launch_join_parts(run.plan.join, residues.data, residues.plane_stride, prepared.moduli_used(), to.stream);
  });
}

// C_ij = fl(integer * 2^-(s_i + t_j)), specials patched.
ReconstructJob reconstruct_job(const Run& run, const Preparation& prepared, const Block& block, const Residues& residues) {
  ReconstructJob job;
  job.result = block_of(run.turn.result, block);
  job.residues = residues;
  job.residues.plane_stride *= run.plan.schedule.planes_per_modulus();  // from modulus to modulus
  job.a = prepared.a.scaled.from_line(block.rows.first);
  job.b = prepared.b.scaled;
  job.moduli_used = prepared.moduli_used();
  job.first_column = block.columns.first;
  job.overlap_previous = run.overlaps_multiply();
  return job;
}

// The list of a block's entries, of the layout's extents.
Listed list_at(const Run& run, std::int64_t offset, RepairCounts* counts) {
  Listed listed;
  listed.word = reinterpret_cast<std::uint32_t*>(run.workspace + offset);
  listed.pitch = run.layout.listed_pitch;
  listed.matrix_stride = run.layout.rows * listed.pitch;
  listed.counts = counts;
  return listed;
}

// All of a turn without planes; `update`: of a product that one launch adds to something, else null.
void multiply_whole(const Run& run, const ReconstructJob& job, const Certification* certification,
                    const DeviceUpdate* update = nullptr) {
  const CapacityRule rule = run.stages.capacity();
  run.stages.run(Stage::direct, [&](const LaunchOptions& to) {
    if (run.plan.promise.has_integers) return launch_direct_integers(job, to.stream);
    switch (run.layout.way) {
      case Way::thin: return launch_thin(job, rule, run.workspace + run.layout.thin, to.stream, certification);
      case Way::tiles: return launch_tiles(run.plan.tile_limbs, job, rule, to.stream, certification);
      default: return launch_direct(job, rule, to.stream, certification, update);
    }
  });
}

// The members that both jobs share.
void set_repair(RepairJob& repair, const Run& run, const ReconstructJob& job, const Certification& certification,
                const DeviceUpdate& update, bool starts_report) {
  repair.result = job.result;
  repair.a = job.a;
  repair.b = job.b;
  repair.first_column = job.first_column;
  repair.rounding = certification.rounding;
  repair.listed = certification.listed;
  repair.update = update;
  repair.bound = certification.bound;
  repair.report = reinterpret_cast<RepairReport*>(run.workspace + run.layout.counts);
  repair.starts_report = starts_report;
  repair.order = run.stages.options().repair;
  repair.overlap_previous = true;
}

// The same rounded as asked, its entries certified or repaired.
void finish_block(const Run& run, const Block& block, const ReconstructJob& job, Certification certification, bool is_first) {
  DeviceUpdate update = run.turn.update;
  if (update.c.data != nullptr) update.c = block_of(update.c, block);
  const Promise& promise = run.plan.promise;
  const CudaLayout& layout = run.layout;
  const bool is_standard = promise.accuracy == Accuracy::standard;
  if (is_standard && promise.updates && !layout.is_without_planes()) {
    certification.kept = {run.workspace + layout.kept, layout.out_pitch, layout.rows * layout.out_pitch};
  }
  if (layout.is_without_planes()) {
    multiply_whole(run, job, &certification, promise.updates ? &update : nullptr);
  } else {
    run.stages.reconstruct(job, &certification, promise.updates ? &update : nullptr);
  }
  if (certification.listed.word == nullptr) return;
  const bool starts_report = is_first && block.rows.first == 0 && block.columns.first == 0;
  if (is_standard) {
    ChainJob chains;
    set_repair(chains, run, job, certification, update, starts_report);
    chains.kept = certification.kept;
    chains.lists_only_chains = layout.way == Way::direct;
    chains.exchanges_pairs = run.stages.options().exchanges_pairs;
    if (layout.has_magnitudes) chains.magnitudes = run.workspace + layout.outputs;
    return run.stages.run(Stage::repair, [&](const LaunchOptions& to) { launch_chains(chains, to.stream); });
  }
  RepairJob repair;
  set_repair(repair, run, job, certification, update, starts_report);
  if (layout.a_masks != 0) repair.masks = {run.workspace + layout.a_masks, run.workspace + layout.b_masks};
  run.stages.run(Stage::repair, [&](const LaunchOptions& to) { launch_repair(repair, to.stream); });
}

// C_ij is the integer itself, modulo 2^w or a number.
void reconstruct_integers(const Run& run, const Preparation& prepared, const Block& block, const Residues& residues) {
  IntegerJob job;
  job.result = block_of(run.turn.result, block);
  job.residues = residues;
  job.moduli_used = prepared.moduli_used();
  job.overflows = reinterpret_cast<unsigned long long*>(run.turn.second.data);
  job.overlap_previous = run.overlaps_multiply();
  run.stages.run(
      Stage::reconstruct, [&] { return find_integer_error(run.plan.integers, job); },
      [&](const LaunchOptions& to) { launch_integer_reconstruct(run.plan.integers, job, to.stream); });
}

// All that the promise has of a block, from the residues or, without planes, from the operands.
void reconstruct(const Run& run, const Preparation& prepared, const Block& block, const Residues& residues,
                 RepairCounts* counts) {
  const Promise& promise = run.plan.promise;
  const bool is_direct = run.layout.is_without_planes();
  if (promise.has_integers && !is_direct) return reconstruct_integers(run, prepared, block, residues);
  ReconstructJob job = reconstruct_job(run, prepared, block, residues);
  if (!promise.has_records()) return is_direct ? multiply_whole(run, job, nullptr) : run.stages.reconstruct(job);
  const int* const is_certain = is_direct ? nullptr : prepared.is_certain();
  Certification certification{promise.accuracy, promise.rounding, promise.precision, {}, {}, is_certain};
  if (promise.certifies()) certification.listed = list_at(run, run.layout.listed, counts);
  if (promise.second == Second::bound) certification.bound = block_of(run.turn.second, block);
  finish_block(run, block, job, certification, true);
  if (promise.second != Second::upper) return;
  job.result = block_of(run.turn.second, block);
  certification.rounding = Rounding::up;
  finish_block(run, block, job, certification, false);
}

// The counts of this walk's repairs, zero: its own, unless launches of the stream share some. Null where nothing is repaired.
RepairCounts* clear_repair_counts(const Run& run) {
  if (!run.plan.promise.certifies()) return nullptr;
  const LaunchOptions& options = run.stages.options();
  if (options.clear_counters != nullptr) {
    return reinterpret_cast<RepairCounts*>(static_cast<char*>(options.clear_counters) + kScaleCounterBytes);
  }
  char* const own = run.workspace + run.layout.counts + kRepairReportBytes;
  if (!run.stages.only_checks()) {
    require_launched(cudaMemsetAsync(own, 0, kRepairCounterBytes, options.stream), Stage::repair, "its counters");
  }
  return reinterpret_cast<RepairCounts*>(own);
}

// Hands every stage of a turn, block by block and piece by piece, to its stages, in the order in which they run.
void walk(const Run& run) {
  const Preparation prepared(run.plan, run.layout, run.turn, run.workspace);
  RepairCounts* const counts = clear_repair_counts(run);
  if (run.layout.is_without_planes()) {
    for (const Stage stage : {Stage::scale, Stage::encode, Stage::multiply}) run.stages.record(stage);
    const Block whole{{0, run.layout.rows}, {0, run.layout.columns}, {0, run.layout.inners}};
    return reconstruct(run, prepared, whole, {}, counts);
  }
  prepared.scale(run.stages);
  for_blocks(run.layout, run.turn, run.stages.only_checks(), [&](const Block& block) {
    prepared.encode(run.stages, block);
    const Residues sum = run.plan.integer ? words_of(run.turn, block) : residues_at(run, run.layout.outputs);
    if (block.inners.first == 0) {
      multiply(run, prepared, block, sum);
      run.stages.record(Stage::multiply);
    } else {
      const Residues part = residues_at(run, run.layout.partial);
      multiply(run, prepared, block, part);
      run.stages.record(Stage::multiply);
      accumulate(run, block, sum, part);
    }
    const bool is_last = block.inners.first + block.inners.count == run.turn.a.inner;
    if (!is_last || run.plan.integer) return;
    add_splits(run, prepared, sum);
    join_parts(run, prepared, sum);
    reconstruct(run, prepared, block, sum, counts);
  });
}

void check_integer_result(const DeviceResult& result) {
  if (result.columns > 1 && result.column_stride != 4) {
    throw std::invalid_argument("result: its columns are " + std::to_string(result.column_stride) +
                                " bytes apart; an INT8 product stores rows of adjacent int32");
  }
  std::int64_t behind = result.rows * result.row_stride;
  for (int i = result.stack.rank - 1; i >= 0; --i) {
    if (result.stack.extent[i] > 1 && result.stack.stride[i] != behind) {
      throw std::invalid_argument("result: its matrices are " + std::to_string(result.stack.stride[i]) +
                                  " bytes apart along axis " + std::to_string(i) + "; an INT8 product stores them " +
                                  std::to_string(behind) + " apart");
    }
    behind *= result.stack.extent[i];
  }
}

}  // namespace

void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const CudaProduct& product, const GemmStep* device_steps,
                  const Gpu& gpu) {
  if (product.a.inner != product.b.inner) {
    throw std::invalid_argument("the operands differ along K: " + std::to_string(product.a.inner) + " and " +
                                std::to_string(product.b.inner));
  }
  // Addresses matter by their alignment alone; turns differ in where their matrices start and, the last, in how many they are.
  const auto address = [](std::int64_t offset) { return reinterpret_cast<char*>(kPlaceAlignment + offset % kPlaceAlignment); };
  CudaProduct somewhere = product;
  somewhere.result.data = address(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(product.result.data)));
  const Stages stages(plan, gpu);
  for (const std::int64_t index : {std::int64_t(0), layout.turns.count - 1}) {
    const Turn turn = turn_at(somewhere, layout.turns, index);
    if (plan.integer) check_integer_result(turn.result);
    walk({plan, layout, turn, address(0), device_steps, stages});
  }
}

void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace,
                   const GemmStep* device_steps, const LaunchOptions& options) {
  walk({plan, layout, turn, workspace, device_steps, Stages(plan, options)});
}

}  // namespace ozfp4::cuda
