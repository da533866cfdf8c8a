// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/json.h"
#include "tidemark/report/report.h"
#include "tidemark/report/story.h"

namespace tidemark {

std::string perfetto_trace(const plan::Problem& problem, const plan::Plan& plan) {
  const Story story = tell(problem, plan);
  JsonWriter w;
  w.begin_object().field("displayTimeUnit", "ms").key("traceEvents").begin_array();
  const auto thread = [&](int id, const char* name) {
    w.begin_object().field("ph", "M").field("name", "thread_name").field("pid", 1).field("tid", id);
    w.key("args").begin_object().field("name", name).end_object().end_object();
  };
  thread(1, "compute");
  thread(2, "copies");
  for (const Run& r : story.runs) {
    const plan::Task& task = problem.tasks[static_cast<std::size_t>(r.task)];
    w.new_line().begin_object().field("ph", "X").field("pid", 1).field("tid", 1).field("name", task.name);
    w.field("cat", r.again ? "recompute" : "run")
        .field("ts", r.begin * 1e6)
        .field("dur", (r.end - r.begin) * 1e6);
    w.key("args")
        .begin_object()
        .field("kind", task.kind)
        .field("recomputed", r.again)
        .end_object()
        .end_object();
    w.begin_object().field("ph", "C").field("pid", 1).field("name", "live bytes").field("ts", r.begin * 1e6);
    w.key("args").begin_object().field("bytes", r.live).end_object().end_object();
  }
  for (const Copy& c : story.copies) {
    w.new_line().begin_object().field("ph", "X").field("pid", 1).field("tid", 2);
    w.field("name", problem.buffers[static_cast<std::size_t>(c.buffer)].name + (c.out ? " out" : " in"));
    w.field("cat", problem.tiers[static_cast<std::size_t>(c.tier)].name)
        .field("ts", c.begin * 1e6)
        .field("dur", (c.end - c.begin) * 1e6)
        .end_object();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace tidemark
