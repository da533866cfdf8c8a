// Everything that users of tensors call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/compile.h"
#include "tidemark/compile/fit.h"
#include "tidemark/front/aggregate.h"
#include "tidemark/front/cond.h"
#include "tidemark/front/eager.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/front/trace.h"
#include "tidemark/ops/attention.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/index.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/random.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"
