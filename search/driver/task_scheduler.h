// Which shape is tuned next, and for how long: time goes where it shortens the steps of the model most.
//
// First every shape gets its floor, in order of weight: after that each has a time, and the layout rests on
// measurements. Then the turn goes to the shape with the largest promise, the time that a second of tuning is expected
// to take off the steps:
//
//     promise = weight x (best + launch) / (roofline + launch)  x  gain a trial  /  seconds a trial
//     gain a trial = (what the last turn gained a trial + what is left above the roofline / trials so far) / 2
//
// weight is the shape's part of the steps at the roofline, with a constant for each launch (model_tasks.h), so the
// first two factors are what it takes of them now. The gain looks back (a shape that still improves goes on improving)
// and forward (nothing gets below its roofline, and what is left gets harder to find with every trial). A turn doubles
// a shape's trials (and adds a few at least), so that promises are looked at again while they still mean something and
// a strategy is not disturbed often. Equal promises go by weight.
//
// The choice depends on what the scheduler was told and on nothing else: the same results and times give the same
// turns.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace wavetune::search {

class TaskScheduler {
 public:
  struct Shape {
    double weight = 1;
    double roofline_us = 0;  ///< 0: unknown
    double launch_us = 0;    ///< that the weight counts for a launch; no tuning takes it away
    int trials = 0;          ///< of earlier runs
    double best_us = 0;      ///< 0: nothing ok yet
    bool closed = false;     ///< gets no turn
  };

  /// In order of weight. A shape has at most `cap` trials.
  TaskScheduler(std::vector<Shape> shapes, int cap);

  struct Turn {
    std::size_t shape = 0;
    int until_trials = 0;  ///< all trials of the shape, earlier ones included
    bool floor = false;
  };
  /// The next turn; nothing when no shape is open that has no turn now. `floor_trials` may change between calls.
  /// `plenty`: there is time for everything, so that shapes need not be interrupted: heaviest first, up to the cap.
  std::optional<Turn> next(int floor_trials, bool plenty);

  struct Result {
    int trials = 0;  ///< of the shape now
    double best_us = 0;
    bool finished = false;
    double seconds = 0;  ///< that the turn took
  };
  void done(std::size_t shape, const Result& result);

  /// Some shape has a turn now.
  bool busy() const;
  /// What next() looks at; 0 for a shape that is closed.
  double promise(std::size_t shape) const;

 private:
  struct State {
    Shape shape;
    bool busy = false;
    double gain_a_trial = 0;     ///< in the last turn, relative
    double seconds_a_trial = 0;  ///< 0: no turn yet
  };
  bool open(const State& state) const { return !state.shape.closed && !state.busy; }
  double usual_seconds() const;

  std::vector<State> shapes_;
  int cap_;
};

}  // namespace wavetune::search
