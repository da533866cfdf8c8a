// The report's only script. Data: the columns of data.cpp. One view (a window of time and of addresses) is shared by the
// canvases that have time along them.
'use strict';
(function () {
  const D = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const bytes = (n) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let u = 0;
    while (Math.abs(n) >= 1024 && u < 4) { n /= 1024; u++; }
    return (u ? n.toFixed(2) : n) + ' ' + units[u];
  };
  const ms = (t) => (t === 0 ? '0' : t >= 1000 ? (t / 1000).toPrecision(4) + ' s' : t >= 1 ? t.toPrecision(3) + ' ms' : (t * 1000).toPrecision(3) + ' us');

  // ---- columns (columns.h says how they are packed)
  const DIGIT = new Uint8Array(128);
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.split('').forEach((c, i) => { DIGIT[c.charCodeAt(0)] = i; });
  function integers(text) {
    const out = [];
    let value = 0, scale = 1, before = 0, last = 0, repeats = false;   // products, not shifts: beyond 32 bits
    for (let i = 0; i < text.length; i++) {
      if (text[i] === '!') { repeats = true; continue; }
      const d = DIGIT[text.charCodeAt(i)];
      value += (d & 31) * scale;
      if (d & 32) { scale *= 32; continue; }
      if (!repeats) last = value % 2 ? -(value + 1) / 2 : value / 2;
      for (let n = repeats ? value : 1; n > 0; n--) out.push(before += last);
      value = 0; scale = 1; repeats = false;
    }
    return Float64Array.from(out);
  }
  function floats(text) {
    const [all, which] = text.split(';'), raw = atob(all), view = new DataView(new ArrayBuffer(raw.length));
    for (let i = 0; i < raw.length; i++) view.setUint8(i, raw.charCodeAt(i));
    const values = Float32Array.from({ length: raw.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    return which === undefined ? values : Float32Array.from(integers(which), (i) => values[i]);
  }
  // The shared beginning is counted in bytes of UTF-8.
  function names(text) {
    const from = new TextDecoder(), to = new TextEncoder(), out = [];
    let before = new Uint8Array(0);
    const lines = text.split('\n');
    lines.pop();
    for (const line of lines) {
      const shared = line.charCodeAt(0) - 33, rest = to.encode(line.slice(1)), whole = new Uint8Array(shared + rest.length);
      whole.set(before.subarray(0, shared)); whole.set(rest, shared);
      out.push(from.decode(whole));
      before = whole;
    }
    return out;
  }
  const words = (name) => { const table = names(D[name + '_words']), which = integers(D[name]); return (i) => (i < 0 ? '' : table[which[i]] || ''); };
  const bufferNames = names(D.buffer_names), taskNames = names(D.task_names), taskMakes = integers(D.task_makes);
  const typeOf = words('buffer_types'), lineOf = words('buffer_lines'), kindOf = words('task_kinds');
  const taskMs = floats(D.task_ms), maker = integers(D.buffer_maker), fate = integers(D.buffer_fate), uses = integers(D.buffer_uses);
  const gapFrom = integers(D.gap_from), gapTo = integers(D.gap_to), remakeMs = floats(D.remake_ms), liveIfKept = integers(D.live_if_kept);
  const runTask = integers(D.run_task), runAgain = integers(D.run_again), runLive = integers(D.run_live), runWait = floats(D.run_wait_ms);
  const lifeBuffer = integers(D.life_buffer), lifeFirst = integers(D.life_first), lifeRuns = integers(D.life_runs);
  const lifeOffset = integers(D.life_offset), lifeBytes = integers(D.life_bytes);
  const copyBuffer = integers(D.copy_buffer), copyOut = integers(D.copy_out), copyBegin = floats(D.copy_begin_ms), copyEnd = floats(D.copy_end_ms);
  const otherEnd = D.other_end_ms ? floats(D.other_end_ms) : null, otherLive = D.other_live ? integers(D.other_live) : null;
  const otherMost = otherLive ? otherLive.reduce((a, b) => Math.max(a, b), 0) : 0;
  const runs = runTask.length, lives = lifeBuffer.length, copies = copyBuffer.length;
  const bufferName = (b) => (b < 0 ? 'workspace' : bufferNames[b] || 'buffer ' + b);
  const taskName = (t) => taskNames[t] || (taskMakes[t] >= 0 ? bufferNames[taskMakes[t]] : '') || kindOf(t) || 'task ' + t;

  // ---- time: of the machine, waits included; a run of no length still has some
  const begin = new Float64Array(runs + 1), end = new Float64Array(runs);
  let now = 0;
  for (let i = 0; i < runs; i++) { begin[i] = now + Math.max(runWait[i], 0); end[i] = now = begin[i] + Math.max(taskMs[runTask[i]], 1e-9); }
  begin[runs] = now;
  let total = now || 1;
  for (let c = 0; c < copies; c++) total = Math.max(total, copyEnd[c]);
  const arenaTop = Math.max(D.arena, 1);
  const x0s = new Float64Array(lives), x1s = new Float64Array(lives), kinds = new Uint8Array(lives);
  const SHORT = 0, KEPT = 1, AGAIN = 2, OTHER = 3, MOVED = 4, WORK = 5, KINDS = ['short', 'kept', 'again', 'other', 'moved', 'work'];
  const livesOf = new Map();
  const longLife = Math.max(3, runs * 0.05);
  for (let l = 0; l < lives; l++) {
    const b = lifeBuffer[l], last = lifeFirst[l] + lifeRuns[l];
    x0s[l] = begin[lifeFirst[l]]; x1s[l] = last >= runs ? now : begin[last];
    const first = !livesOf.has(b);
    if (b >= 0) { if (first) livesOf.set(b, [l]); else livesOf.get(b).push(l); }
    kinds[l] = b < 0 ? WORK : fate[b] === 5 ? MOVED : fate[b] === 4 || fate[b] > 6 ? OTHER : !first ? AGAIN : lifeRuns[l] > longLife ? KEPT : SHORT;
  }
  let peakRun = 0;
  for (let i = 1; i < runs; i++) if (runLive[i] > runLive[peakRun]) peakRun = i;

  // ---- drawing
  const view = { t0: 0, t1: total, a0: 0, a1: arenaTop };
  let hits = new Set(), followed = -1, colours = {};
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['ink', 'paper', 'faint', 'line', 'kept', 'short', 'again', 'other', 'moved', 'work', 'wait', 'hit', 'budget', 'label']) colours[name] = style.getPropertyValue('--' + name).trim();
  }
  function surface(canvas) {
    const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    const w = Math.max(1, Math.round(box.width * ratio)), h = Math.max(1, Math.round(box.height * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, box.width, box.height);
    g.font = '11px system-ui, sans-serif';
    return { g, w: box.width, h: box.height };
  }
  const xOf = (t, w) => ((t - view.t0) / (view.t1 - view.t0)) * w;
  // Round numbers, about every `pixels`.
  function ticks(low, high, length, pixels, base) {
    const rough = ((high - low) / length) * pixels;
    let step = Math.pow(base, Math.floor(Math.log(rough) / Math.log(base)));
    for (const f of base === 2 ? [1, 2] : [1, 2, 5, 10]) if (step * f >= rough) { step *= f; break; }
    const out = [];
    for (let v = Math.ceil(low / step) * step; v <= high && out.length < 50; v += step) out.push(v);
    return out;
  }
  // Text that can be read on any ground.
  function label(g, text, x, y) {
    g.fillStyle = colours.paper; g.globalAlpha = 0.8; g.fillRect(x - 2, y - 10, g.measureText(text).width + 4, 13);
    g.fillStyle = colours.faint; g.globalAlpha = 1; g.fillText(text, x, y);
  }
  function timeAxis(g, w, h) {
    g.strokeStyle = colours.faint; g.lineWidth = 1;
    for (const t of ticks(view.t0, view.t1, w, 130, 10)) {
      const x = Math.round(xOf(t, w)) + 0.5;
      g.beginPath(); g.moveTo(x, h - 5); g.lineTo(x, h); g.stroke();
      if (t > 0 && x < w - 50) label(g, ms(t), x + 3, h - 3);
    }
  }

  // Rows of pixels filled one by one: thousands of rectangles thinner than a pixel cost the canvas seconds.
  let image = null;
  function raster(g, visible, sx, sy, h) {
    const canvas = g.canvas, ratio = window.devicePixelRatio || 1, W = canvas.width, H = canvas.height;
    if (!image || image.width !== W || image.height !== H) image = g.createImageData(W, H);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(0);
    visible.forEach((list, k) => {
      g.fillStyle = colours[KINDS[k]];
      const hex = parseInt(g.fillStyle.slice(1), 16), word = (255 << 24 | (hex & 255) << 16 | (hex & 0xff00) | hex >> 16) >>> 0;
      // Neighbours differ a little in shade, so that they can be told apart.
      const dim = (f) => (255 << 24 | Math.round((hex & 255) * f) << 16 | Math.round((hex >> 8 & 255) * f) << 8 | Math.round((hex >> 16) * f)) >>> 0;
      const shades = [word, dim(0.92), dim(0.84)];
      for (const l of list) {
        const x = Math.max(0, Math.floor((x0s[l] - view.t0) * sx * ratio)), x1 = Math.min(W, Math.ceil((x1s[l] - view.t0) * sx * ratio));
        const y = Math.max(0, Math.floor((h - (lifeOffset[l] + lifeBytes[l] - view.a0) * sy) * ratio)), y1 = Math.min(H, Math.max(y + 1, Math.floor((h - (lifeOffset[l] - view.a0) * sy) * ratio)));
        if (x1 <= x) continue;
        for (let row = y; row < y1; row++) pixels.fill(shades[l % 3], row * W + x, row * W + x1);
      }
    });
    g.putImageData(image, 0, 0);
  }

  function drawArena() {
    const { g, w, h } = surface(byId('arena'));
    const sx = w / (view.t1 - view.t0), sy = h / (view.a1 - view.a0);
    // One colour after the other: changing it costs more than a rectangle.
    const visible = KINDS.map(() => []), special = [];
    for (let l = 0; l < lives; l++) {
      if (x1s[l] < view.t0 || x0s[l] > view.t1 || lifeOffset[l] < 0 || lifeOffset[l] > view.a1 || lifeOffset[l] + lifeBytes[l] < view.a0) continue;
      if (hits.has(l) || (followed >= 0 && lifeBuffer[l] === followed)) special.push(l); else visible[kinds[l]].push(l);
    }
    const many = visible.reduce((n, list) => n + list.length, 0) > 5000;
    const paint = (list, colour, label) => {
      g.fillStyle = colour; g.strokeStyle = colours.paper; g.lineWidth = 0.5;
      const named = [];
      for (const l of list) {
        const x = (x0s[l] - view.t0) * sx, y = h - (lifeOffset[l] + lifeBytes[l] - view.a0) * sy;
        const width = Math.max((x1s[l] - x0s[l]) * sx, 0.5), height = Math.max(lifeBytes[l] * sy, 0.5);
        g.fillRect(x, y, width, height);
        if (width > 4 && height > 4) g.strokeRect(x, y, width, height);
        // To the right of the addresses.
        const left = Math.max(x, 68), room = Math.min(x + width, w) - left;
        if (room > 60 && height > 13) named.push([l, left, y, room]);
      }
      g.fillStyle = label;
      for (const [l, x, y, width] of named.slice(0, 300)) {
        const text = bufferName(lifeBuffer[l]), room = Math.floor((width - 8) / 6);
        if (room > 4) g.fillText(text.length > room ? text.slice(0, room - 1) + '…' : text, x + 4, Math.max(y, 0) + 12);
      }
    };
    if (many) raster(g, visible, sx, sy, h);
    else visible.forEach((list, k) => paint(list, colours[KINDS[k]], k === SHORT ? colours.ink : colours.label));
    paint(special, colours.hit, colours.label);
    const px = xOf((begin[peakRun] + end[peakRun]) / 2, w);
    g.strokeStyle = colours.budget; g.setLineDash([3, 3]); g.beginPath(); g.moveTo(px, 0); g.lineTo(px, h); g.stroke(); g.setLineDash([]);
    for (const a of ticks(view.a0, view.a1, h, 60, 2)) {
      const y = h - (a - view.a0) * sy;
      if (y > 12 && y < h - 14) { g.fillStyle = colours.faint; g.globalAlpha = 0.25; g.fillRect(0, y, w, 0.5); g.globalAlpha = 1; label(g, bytes(a), 3, y - 2); }
    }
    timeAxis(g, w, h);
    if (!D.has_arena) { g.fillStyle = colours.faint; g.fillText('This plan has no offsets (--no-offsets): nothing to draw here.', 12, 20); }
  }

  // The highest value of each pixel: a hundred thousand runs are drawn as fast as a thousand.
  function steps(g, w, h, y, times, values) {
    const most = new Float64Array(Math.ceil(w) + 1);
    for (let i = 0; i < values.length; i++) {
      const from = i ? times[i - 1] : 0;
      if (times[i] < view.t0 || from > view.t1) continue;
      const a = Math.max(0, Math.floor(xOf(from, w))), b = Math.min(most.length - 1, Math.ceil(xOf(times[i], w)));
      for (let x = a; x < b || x === a; x++) if (values[i] > most[x]) most[x] = values[i];
    }
    g.beginPath(); g.moveTo(0, h);
    for (let x = 0; x < most.length; x++) { g.lineTo(x, y(most[x])); g.lineTo(x + 1, y(most[x])); }
    g.lineTo(w, h); g.closePath();
  }
  function drawProfile() {
    const { g, w, h } = surface(byId('profile'));
    const top = Math.max(D.peak, D.budget, otherMost, 1) * 1.14, y = (b) => h - (b / top) * h;
    steps(g, w, h, y, end, runLive);
    g.fillStyle = colours.kept; g.globalAlpha = 0.45; g.fill(); g.globalAlpha = 1;
    g.fillStyle = colours.work; g.globalAlpha = 0.45; g.fillRect(0, y(D.resident), w, h - y(D.resident)); g.globalAlpha = 1;
    if (otherEnd) { steps(g, w, h, y, otherEnd, otherLive); g.strokeStyle = colours.moved; g.lineWidth = 1; g.stroke(); g.fillStyle = colours.moved; g.fillText('the other plan', w - 90, 12); }
    const line = (b, name, text, below = -4) => {
      g.strokeStyle = g.fillStyle = colours[name];
      g.lineWidth = 1.5;
      g.beginPath(); g.moveTo(0, y(b)); g.lineTo(w, y(b)); g.stroke();
      g.fillText(text, 6, y(b) + below);
    };
    line(D.resident, 'ink', 'resident ' + bytes(D.resident), h - y(D.resident) > 36 ? 13 : -4);
    if (D.budget > 0) line(D.budget, 'budget', 'budget ' + bytes(D.budget) + (Math.abs(y(D.peak) - y(D.budget)) < 14 ? ', peak ' + bytes(D.peak) : ''));
    if (!(D.budget > 0) || Math.abs(y(D.peak) - y(D.budget)) >= 14) line(D.peak, 'ink', 'peak ' + bytes(D.peak));
    const px = xOf((begin[peakRun] + end[peakRun]) / 2, w);
    g.fillStyle = colours.budget; g.beginPath(); g.arc(px, y(runLive[peakRun]), 3.5, 0, 7); g.fill();
    timeAxis(g, w, h);
  }

  function drawTasks() {
    const { g, w, h } = surface(byId('tasks'));
    const lane = (h - 14) / (copies ? 3 : 2);
    const bar = (from, to, row, colour, alpha) => {
      const a = xOf(from, w), b = xOf(to, w);
      if (b < 0 || a > w) return;
      g.fillStyle = colour; g.globalAlpha = alpha;
      g.fillRect(a, row * lane + 1, Math.max(b - a, 0.4), lane - 2);
    };
    const first = runAt(view.t0), last = Math.min(runs, runAt(view.t1) + 1);
    if (last - first > 4 * w) {
      // More runs than pixels: a pixel shows what happens in it.
      const has = [new Uint8Array(Math.ceil(w) + 1), new Uint8Array(Math.ceil(w) + 1)];
      for (let i = first; i < last; i++) has[runAgain[i] ? 0 : 1][Math.max(0, Math.floor(xOf(begin[i], w)))] = 1;
      has.forEach((pixels, row) => { g.fillStyle = row ? colours.kept : colours.again; pixels.forEach((yes, x) => { if (yes) g.fillRect(x, row * lane + 1, 1, lane - 2); }); });
    } else for (let i = first; i < last; i++) {
      bar(begin[i], end[i], runAgain[i] ? 0 : 1, runAgain[i] ? colours.again : colours.kept, 0.55 + 0.45 * (i % 2));
      if (runWait[i] > 0) bar(begin[i] - runWait[i], begin[i], 1, colours.wait, 1);
    }
    for (let c = 0; c < copies; c++) bar(copyBegin[c], copyEnd[c], 2, copyOut[c] ? colours.moved : colours.other, 0.6 + 0.4 * (c % 2));
    g.globalAlpha = 1;
    timeAxis(g, w, h);
  }

  function drawFrontier() {
    if (D.frontier.length < 2) return;
    byId('frontier-section').hidden = false;
    const { g, w, h } = surface(byId('frontier'));
    const xs = D.frontier.map((p) => p[1]), ys = D.frontier.map((p) => p[2]), bounds = D.frontier.map((p) => p[3]).filter((b) => b > 0);
    const lowX = Math.min(...xs, D.peak), highX = Math.max(...xs, D.peak), lowY = Math.min(...ys, ...bounds), highY = Math.max(...ys, D.seconds);
    const x = (b) => 70 + ((b - lowX) / (highX - lowX || 1)) * (w - 110), y = (s) => h - 40 - ((s - lowY) / (highY - lowY || 1)) * (h - 70);
    const path = (column, colour, dash) => {
      g.strokeStyle = g.fillStyle = colours[colour]; g.lineWidth = 2; g.setLineDash(dash); g.beginPath();
      D.frontier.forEach((p, i) => (i ? g.lineTo(x(p[1]), y(p[column])) : g.moveTo(x(p[1]), y(p[column]))));
      g.stroke(); g.setLineDash([]);
      D.frontier.forEach((p) => { g.beginPath(); g.arc(x(p[1]), y(p[column]), 2.5, 0, 7); g.fill(); });
    };
    if (bounds.length === D.frontier.length) path(3, 'faint', [4, 3]);
    path(2, 'kept', []);
    g.fillStyle = colours.hit; g.beginPath(); g.arc(x(D.peak), y(D.seconds), 5, 0, 7); g.fill();
    g.fillText('this plan', Math.min(x(D.peak) + 8, w - 60), y(D.seconds) - 6);
    g.fillStyle = colours.faint;
    g.fillText(bytes(lowX), 70, h - 22); g.fillText(bytes(highX), w - 70, h - 22);
    g.fillText(ms(highY * 1e3), 4, y(highY) + 4); g.fillText(ms(lowY * 1e3), 4, y(lowY) + 4);
    g.fillText('solid: plans, dashed: proven, no plan is faster', 70, h - 6);
  }

  let pending = false;
  function draw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; drawArena(); drawProfile(); drawTasks(); });
  }
  function redraw() { readColours(); drawFrontier(); draw(); }

  // ---- the view
  function clamp(low, span, most) {
    span = Math.min(Math.max(span, most * 1e-7), most);
    low = Math.min(Math.max(low, 0), most - span);
    return [low, low + span];
  }
  function zoomTime(factor, at) {
    const t = view.t0 + at * (view.t1 - view.t0), span = Math.min((view.t1 - view.t0) * factor, total);
    [view.t0, view.t1] = clamp(t - at * span, span, total);
    draw();
  }
  function zoomAddress(factor, at) {
    const a = view.a0 + at * (view.a1 - view.a0), span = Math.min((view.a1 - view.a0) * factor, arenaTop);
    [view.a0, view.a1] = clamp(a - at * span, span, arenaTop);
    draw();
  }
  function pan(dt, da) {
    [view.t0, view.t1] = clamp(view.t0 + dt, view.t1 - view.t0, total);
    [view.a0, view.a1] = clamp(view.a0 + da, view.a1 - view.a0, arenaTop);
    draw();
  }
  function all() { view.t0 = 0; view.t1 = total; view.a0 = 0; view.a1 = arenaTop; followed = -1; draw(); }
  function goTo(t0, t1) {
    const span = Math.max((t1 - t0) * 1.5, total * 0.02);
    [view.t0, view.t1] = clamp((t0 + t1 - span) / 2, span, total);
    view.a0 = 0; view.a1 = arenaTop;
    draw();
  }
  function goToLife(l) {
    goTo(x0s[l], x1s[l]);
    if (lifeOffset[l] < 0) return;
    const room = Math.max(lifeBytes[l] * 6, arenaTop * 0.1);
    [view.a0, view.a1] = clamp(lifeOffset[l] + lifeBytes[l] / 2 - room / 2, room, arenaTop);
  }
  function follow(b) {
    followed = followed === b ? -1 : b;
    draw();
  }

  // ---- what is where
  function runAt(t) {
    let low = 0, high = runs;
    while (high - low > 1) { const mid = (low + high) >> 1; if (begin[mid] <= t) low = mid; else high = mid; }
    return low;
  }
  function lifeAt(t, a) {
    for (let l = 0; l < lives; l++) {
      if (x0s[l] <= t && t < x1s[l] && lifeOffset[l] >= 0 && lifeOffset[l] <= a && a < lifeOffset[l] + lifeBytes[l]) return l;
    }
    return undefined;
  }
  function why(b) {
    const span = gapTo[b] - gapFrom[b] - 1, next = gapTo[b] >= 0 ? taskName(runTask[gapTo[b]]) : '';
    if (liveIfKept[b] >= 0) {
      const over = D.budget > 0 ? (liveIfKept[b] > D.budget ? ', ' + bytes(liveIfKept[b] - D.budget) + ' over the budget' : ', within the budget') : '';
      return 'Freed over ' + span + ' runs, there again for ' + next + '.\nKept, it would have put ' + bytes(liveIfKept[b]) + ' live' + over + '.';
    }
    if (span > 0) {
      return 'Kept over ' + span + ' runs for ' + next + '.\n' + (remakeMs[b] < 0 ? 'It cannot be made again there.' : 'Making it again would have taken at least ' + ms(remakeMs[b]) + '.');
    }
    return 'Goes as soon as it is used.';
  }
  function describe(l) {
    const b = lifeBuffer[l], made = b < 0 ? runTask[lifeFirst[l]] : maker[b];
    const lines = [bufferName(b)];
    lines.push((typeOf(b) ? typeOf(b) + ', ' : '') + bytes(lifeBytes[l]) + ' at ' + lifeOffset[l]);
    if (made >= 0) lines.push((b < 0 ? 'for ' + taskName(made) : 'made by ' + (kindOf(made) || taskName(made)) + ' in ' + ms(taskMs[made])) + (lineOf(b) ? ', ' + lineOf(b) : ''));
    lines.push('runs ' + lifeFirst[l] + ' to ' + (lifeFirst[l] + lifeRuns[l] - 1) + ' of ' + runs + (b >= 0 ? ', read ' + uses[b] + ' ×' : ''));
    if (b >= 0) lines.push(why(b));
    return lines.join('\n');
  }

  // ---- pointer
  const tip = byId('tip');
  function say(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(0, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)) + 'px';
  }
  const place = (event, canvas) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height, box];
  };
  const timeOf = (fx) => view.t0 + fx * (view.t1 - view.t0);
  const told = {
    arena: (fx, fy) => { const l = lifeAt(timeOf(fx), view.a0 + fy * (view.a1 - view.a0)); return l === undefined ? '' : describe(l); },
    profile: (fx) => ofRun(runAt(timeOf(fx))),
    tasks: (fx, fy) => {
      const t = timeOf(fx);
      if (copies && fy < 0.4) for (let c = 0; c < copies; c++) if (copyBegin[c] <= t && t < copyEnd[c]) return bufferName(copyBuffer[c]) + (copyOut[c] ? ' out' : ' in') + '\n' + ms(copyEnd[c] - copyBegin[c]);
      return ofRun(runAt(t));
    },
  };
  function ofRun(r) {
    if (r >= runs) return '';
    const t = runTask[r];
    return taskName(t) + (kindOf(t) ? ' (' + kindOf(t) + ')' : '') + (runAgain[r] ? ', again' : '') + '\nrun ' + r + ', ' + ms(taskMs[t]) + '\n' + bytes(runLive[r]) + ' live';
  }
  for (const id of ['arena', 'profile', 'tasks']) {
    const canvas = byId(id);
    let drag = null, moved = 0;
    canvas.addEventListener('pointerdown', (e) => { drag = [e.clientX, e.clientY]; moved = 0; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointerup', (e) => {
      drag = null;
      if (moved < 4 && id === 'arena') {
        const [fx, fy] = place(e, canvas), l = lifeAt(timeOf(fx), view.a0 + fy * (view.a1 - view.a0));
        follow(l === undefined ? -1 : lifeBuffer[l]);
      }
    });
    canvas.addEventListener('pointermove', (e) => {
      const [fx, fy, box] = place(e, canvas);
      if (drag) {
        moved += Math.abs(e.clientX - drag[0]) + Math.abs(e.clientY - drag[1]);
        pan(-((e.clientX - drag[0]) / box.width) * (view.t1 - view.t0), id === 'arena' ? ((e.clientY - drag[1]) / box.height) * (view.a1 - view.a0) : 0);
        drag = [e.clientX, e.clientY];
        return say(e, '');
      }
      say(e, told[id](fx, fy));
    });
    canvas.addEventListener('pointerleave', (e) => say(e, ''));
    canvas.addEventListener('dblclick', all);
    canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      const [fx, fy] = place(e, canvas), factor = Math.exp(Math.max(-300, Math.min(300, e.deltaY || e.deltaX)) * 0.0015);
      if (e.shiftKey && id === 'arena') zoomAddress(factor, fy); else zoomTime(factor, fx);
      if (e.ctrlKey && id === 'arena') zoomAddress(factor, fy);
    }, { passive: false });
  }

  // ---- keyboard and search
  let found = [], at = -1;
  function find(text) {
    hits = new Set(); found = []; at = -1;
    const wanted = text.trim().toLowerCase();
    if (wanted) {
      const has = (s) => s && s.toLowerCase().includes(wanted);
      const matches = new Map();
      for (let l = 0; l < lives; l++) {
        const b = lifeBuffer[l], key = b < 0 ? -2 - runTask[lifeFirst[l]] : b;
        if (!matches.has(key)) matches.set(key, b < 0 ? has('workspace') : has(bufferName(b)) || has(typeOf(b)) || has(lineOf(b)) || (maker[b] >= 0 && (has(taskName(maker[b])) || has(kindOf(maker[b])))));
        if (matches.get(key)) { hits.add(l); found.push(l); }
      }
    }
    byId('found').textContent = wanted ? found.length + ' found' : '';
    draw();
  }
  function next(step) {
    if (!found.length) return;
    at = (at + step + found.length) % found.length;
    byId('found').textContent = (at + 1) + ' of ' + found.length + ': ' + bufferName(lifeBuffer[found[at]]);
    goToLife(found[at]);
  }
  function theme() {
    const dark = colours.paper.startsWith('#1');
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    redraw();
  }
  byId('theme').addEventListener('click', theme);
  byId('search').addEventListener('input', (e) => find(e.target.value));
  document.addEventListener('keydown', (e) => {
    const search = byId('search');
    if (document.activeElement === search) {
      if (e.key === 'Escape') { search.value = ''; find(''); search.blur(); }
      if (e.key === 'Enter') next(e.shiftKey ? -1 : 1);
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const dt = (view.t1 - view.t0) * 0.1, da = (view.a1 - view.a0) * 0.1;
    const act = { '/': () => search.focus(), ArrowLeft: () => pan(-dt, 0), ArrowRight: () => pan(dt, 0), ArrowUp: () => pan(0, da), ArrowDown: () => pan(0, -da),
      '+': () => zoomTime(0.7, 0.5), '=': () => zoomTime(0.7, 0.5), '-': () => zoomTime(1.4, 0.5), '0': all, n: () => next(1), N: () => next(-1), t: theme,
      p: () => goTo(begin[peakRun], end[peakRun]), Escape: () => { followed = -1; draw(); } }[e.key];
    if (act) { e.preventDefault(); act(); }
  });

  // ---- the tables: who is live at the peak, and what recomputation costs
  function rows(id, list) {
    const table = byId(id);
    for (const [cells, b] of list) {
      const tr = table.insertRow();
      cells.forEach((c, i) => { const cell = document.createElement(i ? 'td' : 'th'); cell.textContent = c; tr.append(cell); });
      if (b >= 0) tr.addEventListener('click', () => { followed = b; const l = livesOf.get(b); if (l) goTo(x0s[l[0]], x1s[l[l.length - 1]]); });
    }
    if (!list.length) table.insertRow().insertCell().textContent = 'nothing';
  }
  const live = [];
  for (let l = 0; l < lives; l++) if (lifeFirst[l] <= peakRun && peakRun < lifeFirst[l] + lifeRuns[l]) live.push(l);
  live.sort((p, q) => lifeBytes[q] - lifeBytes[p]);
  const FATES = ['', '', 'kept', 'made again', 'made another way', 'moved', '', 'compressed', 'inverted'];
  rows('at-peak', live.slice(0, 25).map((l) => [[bufferName(lifeBuffer[l]), typeOf(lifeBuffer[l]), bytes(lifeBytes[l]), lifeBuffer[l] < 0 ? '' : FATES[fate[lifeBuffer[l]]]], lifeBuffer[l]]));
  const extra = new Map();
  for (let i = 0; i < runs; i++) if (runAgain[i]) extra.set(runTask[i], (extra.get(runTask[i]) || 0) + 1);
  rows('recomputed', [...extra].sort((p, q) => q[1] * taskMs[q[0]] - p[1] * taskMs[p[0]]).slice(0, 25)
    .map(([t, n]) => [[taskName(t), kindOf(t), n + ' ×', ms(n * taskMs[t])], taskMakes[t]]));

  window.addEventListener('resize', redraw);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  // For tests: where a life is drawn, in the window's pixels.
  window.tidemarkReport = {
    lives, runs, view, draw,
    nameOf: (l) => bufferName(lifeBuffer[l]),
    centreOf(l) {
      const box = byId('arena').getBoundingClientRect();
      return [box.left + xOf((x0s[l] + x1s[l]) / 2, box.width), box.top + box.height * (1 - (lifeOffset[l] + lifeBytes[l] / 2 - view.a0) / (view.a1 - view.a0))];
    },
    largest() { let best = 0; for (let l = 1; l < lives; l++) if (lifeBuffer[l] >= 0 && lifeBytes[l] * (x1s[l] - x0s[l]) > lifeBytes[best] * (x1s[best] - x0s[best])) best = l; return best; },
    drawNow() { const t = performance.now(); drawArena(); drawProfile(); drawTasks(); return performance.now() - t; },
  };
  redraw();
})();
