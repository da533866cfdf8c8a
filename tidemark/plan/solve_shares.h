// How solve shares its time and the arena out between searching, packing and proving: found by measuring. Internal to solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "tidemark/base/bytes.h"

namespace tidemark::plan::shares {

inline constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max() / 4;  // a budget where there is none

// Tries to give offsets, and those before the live bytes alone are blamed, whatever the time.
inline constexpr int kPackings = 12, kSurePackings = 6;
inline constexpr double kClosed = 1e-9;  // of the bound: no further away, a plan is the best
// A gap that branching may close, at most and at least, and the tasks from which on it falls with their square; and when in the search to try.
inline constexpr double kNear = 0.02, kNearest = 5e-4, kNearTasks = 150, kEarly = 0.15;
inline constexpr double kAtOneMoment =
    0.002;  // a gap that branching closes at one moment, if at all in that time
// A gap that is wide, and when in a search that makes it end.
inline constexpr double kWideGap = 0.02, kUntilWideGap = 0.82;
// When in a search its best is packed to see whether that fits, and how long after one that did.
inline constexpr double kProbe = 0.14, kProbeAgain = 0.25;
// Of the time limit, for that; where the order stays as it is, so that packing alone has to do; and where sweeps have left something out.
inline constexpr double kToProbe = 0.02, kToProbeAlone = 0.08, kToProbeBeside = 0.04;
inline constexpr double kLate = 0.8;      // of the search's time: too late to search again
inline constexpr double kFar = 0.06;      // of the arena: holes that call for a search with fewer live bytes
inline constexpr double kHoles = 0.0125;  // the same where the order can change with the offsets
// Likewise, what fewer live bytes everywhere would cost too much for.
inline constexpr double kHolesForBallast = 0.045;
// Of the arena: live bytes fewer with which the order may do the rest, to be measured from the most on; the most and the least that are tried
// first; and so many more where it turns out that they do not do.
inline constexpr double kFewer[] = {0.0125, 0.008, 0.0055, 0.0035, 0.002}, kFewest = 0.0075,
                        kLeastFewer = 0.002;
// So few that a search need not begin with them; nor where there was no time to measure how many do.
inline constexpr double kEasy = 0.003;
inline constexpr double kFewerStill = 0.003;
inline constexpr int kBySteps = 2;  // tries that lead to so many more, whatever packing alone leaves over
// Where few fewer do for the few dives that measure it, fewer still do for many.
inline constexpr double kOptimism = 0.8;
inline constexpr double kToMeasure = 0.06;  // of the time limit, at most, to find out which of them
inline constexpr double kPartOver =
    0.5;  // of the bytes that packing leaves over: so many fewer for the next try
inline constexpr double kUpwards = 0.35;  // of the way from what was packed to what was not, for the next try
inline constexpr double kToLessFew = 0.5;  // likewise, from what is not to be had
inline constexpr double kToSearch = 0.64;  // of the time limit: when the first search for that ends
inline constexpr double kToLower = 0.3, kToRaise = 0.4;  // of what is left, for the next ones
inline constexpr double kToArrange = 0.6;                // likewise, for offsets together with the order
inline constexpr double kLeastToArrange =
    0.12;  // of the time limit, for that, as long as there are none; half of it after some tries
inline constexpr double kToArrangeAll = 0.06;  // likewise, first, with all the live bytes that the budget has
// Seconds, about, until another order has its offsets, for the square of the number of runs.
inline constexpr double kToArrangeASquare = 7.5e-8;
// Seconds for each task beyond so many, where the order stays: packing takes several tries.
inline constexpr double kToPackMore = 4e-5, kMostPackedSoon = 4000;
inline constexpr double kLeastForOffsets = 0.06,
                        kMostForOffsets = 0.3;  // of the time limit, left by the search
inline constexpr double kToFit =
    0.01;  // of the time limit, at least, for a plan of fewer live bytes from one of more
inline constexpr double kLeastToPack = 0.03;  // likewise, for packing alone, however late it is
inline constexpr double kToPackATask = 1e-5,
                        kMostToPack = 0.1;    // likewise, at least: seconds a task, but no more than this
inline constexpr double kToPackLast = 0.1;    // likewise, for what is found where no start fits
inline constexpr double kUntilBound = 0.905;  // of the time limit: when all that ends
// Live bytes fewer for the next packing, of the arena, at the first tries: where a single large value found no place, what is over says little.
inline constexpr double kStepDown = 0.02;
inline constexpr int kSmallSteps = 3;
inline constexpr double kAgain = 0.5;        // of what is left, for a search with fewer live bytes
inline constexpr double kWhole = 0.25;       // of what is left, to look at every state of a tiny problem
inline constexpr double kOneMore = 0.004;    // seconds: what a bound may take beyond its time
inline constexpr double kLeastBound = 0.05;  // of the time limit, for the bound, however late it is
inline constexpr double kHasty = 0.1;        // seconds, for what must still be done once told to stop
inline constexpr double kForACut = 2e-5;  // seconds a task: with less, the first cut may not come to its end
// Of the time, for a plan made in a simple way where there is so little: all that it would have by itself, and what is left to other ways.
inline constexpr double kSimple = 1, kSimpler = 0.3;
// Of the time, for the table of a chain, its seconds where rounds are counted, and the most tasks; and for ways that find a plan where no start does.
inline constexpr double kToChain = 0.1, kChainCounted = 0.01, kLastShare = 0.05;
inline constexpr std::int32_t kMostForChain = 2000;
// Of what is left where no start fits, for the same starts with other random numbers.
inline constexpr double kToStartAgain = 0.2,
                        kQuickStart = 0.6;  // the latter: of the time, when the first is through
// Tasks, to look for another order with or without dives, and how many of these a try should have time for.
inline constexpr std::int32_t kMostWithoutDives = 2000;
inline constexpr double kDivesOfATry = 3;
inline constexpr std::uint64_t kSeedsOfATry = 100;  // more than any makes use of
// Searches with other random numbers before the one that goes to the end: how many at most, their part of the time, and what one takes at
// least, in seconds and in times of what the start took.
inline constexpr double kMostOthers = 6, kToOthers = 0.6, kLeastOther = 1, kOtherByStart = 5;
// Where offsets are looked for by sweeps with ballast: tries, and those before time has a say; the sweeps of one, those of a late one, those that show whether any is needed, and how long they
// take at most, of the time limit; the part of the arena that a try adds, that of a late one, and which is late; how long a plan with it
// is searched for, of the time limit; and tasks.
inline constexpr int kBallasts = 40, kSureBallasts = 12, kSweepsATry = 14, kMostSweepsATry = 40,
                     kSweepsToProbe = 8;
inline constexpr double kToSweep = 0.15;
inline constexpr Bytes kBallast = 450, kMostBallast = 250;
inline constexpr int kToMostBallast = 6;
inline constexpr double kToBallast = 0.02;
// What a try takes, in seconds a task, and the part of the time limit that the sure ones may.
inline constexpr double kBallastATask = 2e-5, kMostToBallast = 0.8;
// What is tried in turn where no plan has so much: the part of it, and of the arena what is live at most where it is added. So many of them are no reason to begin again.
struct ToAdd {
  double part, most_live;
};
inline constexpr ToAdd kToAdd[] = {{1, 2}, {0.5, 2}, {1, 0.997}, {1, 0.985}, {0.5, 0.97}, {0, 2}};
inline constexpr std::size_t kEasyToAdd = 2;
inline constexpr int kHardToAdd = 3;  // times in a row that more of them were needed: begin again
// What is left of the ballast once there are places, or none faster; and to begin again.
inline constexpr double kLighter = 0.6, kLightest = 0.3;
inline constexpr std::int32_t kMostForBallast = 10'000;
// Tasks, for plans of greedy ways as starts beside copies; and beyond which the plan is one start made well.
inline constexpr std::int32_t kMostForGreedy = 500, kMostForThreads = 20000;

}  // namespace tidemark::plan::shares
