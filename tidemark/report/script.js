// The report's only script. Data: columns written by html.cpp. One view (time window, address window) shared by the canvases.
'use strict';
(function () {
  const D = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const runs = D.run_task.length, lives = D.life_buffer.length;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const bytes = (n) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let u = 0;
    while (Math.abs(n) >= 1024 && u < 4) { n /= 1024; u++; }
    return (u ? n.toFixed(2) : n) + ' ' + units[u];
  };

  // Time of run i: cumulative, so that the axis is the machine's time and not the step count.
  const time = new Float64Array(runs + 1);
  for (let i = 0; i < runs; i++) time[i + 1] = time[i] + Math.max(D.task_ms[D.run_task[i]], 1e-6);
  const total = time[runs] || 1;
  const arenaTop = Math.max(D.arena, 1);
  const bufferName = (b) => (b < 0 ? 'workspace' : D.buffer_names[b]);
  const firstLife = new Map();
  const again = new Uint8Array(lives);   // this life is not the buffer's first
  for (let l = 0; l < lives; l++) {
    const b = D.life_buffer[l];
    if (b < 0) continue;
    if (firstLife.has(b)) again[l] = 1; else firstLife.set(b, l);
  }
  const longLife = Math.max(3, runs * 0.05);
  const kind = (l) => (D.life_buffer[l] < 0 ? 'work' : again[l] ? 'again' : D.life_last[l] - D.life_first[l] > longLife ? 'kept' : 'short');

  const view = { t0: 0, t1: total, a0: 0, a1: arenaTop };
  let hits = new Set();

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

  function drawArena() {
    const { g, w, h } = surface(byId('arena'));
    const yOf = (a) => h - ((a - view.a0) / (view.a1 - view.a0)) * h;
    const paint = { kept: colour('kept'), short: colour('short'), again: colour('again'), work: colour('work') }, hit = colour('hit');
    g.strokeStyle = colour('paper');
    g.lineWidth = 0.5;
    for (let l = 0; l < lives; l++) {
      if (D.life_offset[l] < 0) continue;
      const x0 = xOf(time[D.life_first[l]], w), x1 = xOf(time[D.life_last[l]], w);
      const y1 = yOf(D.life_offset[l]), y0 = yOf(D.life_offset[l] + D.life_bytes[l]);
      if (x1 < 0 || x0 > w || y1 < 0 || y0 > h) continue;
      g.fillStyle = hits.has(l) ? hit : paint[kind(l)];
      const width = Math.max(x1 - x0, 0.5), height = Math.max(y1 - y0, 0.5);
      g.fillRect(x0, y0, width, height);
      if (width > 4 && height > 4) g.strokeRect(x0, y0, width, height);
      if (width > 70 && height > 13) {
        g.save();
        g.beginPath(); g.rect(x0, y0, width, height); g.clip();
        g.fillStyle = colour('paper');
        g.fillText(bufferName(D.life_buffer[l]), x0 + 4, y0 + 12);
        g.restore();
      }
    }
    if (!D.has_arena) { g.fillStyle = colour('faint'); g.fillText('This plan has no offsets (--no-offsets): nothing to draw here.', 12, 20); }
  }

  function drawProfile() {
    const { g, w, h } = surface(byId('profile'));
    const top = Math.max(D.peak, D.budget, 1) * 1.14, y = (b) => h - (b / top) * h;
    g.beginPath(); g.moveTo(0, h);
    for (let i = 0; i < runs; i++) {
      const x0 = xOf(time[i], w), x1 = xOf(time[i + 1], w);
      if (x1 < 0 || x0 > w) continue;
      g.lineTo(x0, y(D.run_live[i])); g.lineTo(x1, y(D.run_live[i]));
    }
    g.lineTo(w, h); g.closePath();
    g.fillStyle = colour('kept'); g.globalAlpha = 0.35; g.fill(); g.globalAlpha = 1;
    g.fillStyle = colour('work'); g.globalAlpha = 0.35; g.fillRect(0, y(D.resident), w, h - y(D.resident)); g.globalAlpha = 1;
    const line = (b, name, text) => {
      g.strokeStyle = g.fillStyle = colour(name);
      g.beginPath(); g.moveTo(0, y(b)); g.lineTo(w, y(b)); g.stroke();
      g.fillText(text, 6, y(b) - 4);
    };
    line(D.resident, 'faint', 'resident ' + bytes(D.resident));
    if (D.budget > 0) line(D.budget, 'budget', 'budget ' + bytes(D.budget));
    line(D.peak, 'ink', D.budget > 0 && y(D.peak) - y(D.budget) < 14 ? '' : 'peak ' + bytes(D.peak));
  }

  function drawTasks() {
    const { g, w, h } = surface(byId('tasks'));
    const once = colour('kept'), twice = colour('again');
    for (let i = 0; i < runs; i++) {
      const x0 = xOf(time[i], w), x1 = xOf(time[i + 1], w);
      if (x1 < 0 || x0 > w) continue;
      g.fillStyle = D.run_again[i] ? twice : once;
      g.globalAlpha = 0.55 + 0.45 * (i % 2);
      g.fillRect(x0, D.run_again[i] ? 0 : h * 0.35, Math.max(x1 - x0, 0.4), D.run_again[i] ? h * 0.35 : h * 0.65);
    }
    g.globalAlpha = 1;
    g.fillStyle = colour('budget');
    D.copy_run.forEach((r) => g.fillRect(xOf(time[r], w), h * 0.3, 2, h * 0.1));
  }

  function drawFrontier() {
    if (D.frontier.length < 2) return;
    byId('frontier-section').hidden = false;
    const { g, w, h } = surface(byId('frontier'));
    const xs = D.frontier.map((p) => p[1]), ys = D.frontier.map((p) => p[2]), bounds = D.frontier.map((p) => p[3]).filter((b) => b > 0);
    const lowX = Math.min(...xs, D.peak), highX = Math.max(...xs, D.peak), lowY = Math.min(...ys, ...bounds), highY = Math.max(...ys, D.seconds);
    const x = (b) => 50 + ((b - lowX) / (highX - lowX || 1)) * (w - 80), y = (s) => h - 30 - ((s - lowY) / (highY - lowY || 1)) * (h - 60);
    const path = (column, name) => {
      g.strokeStyle = colour(name); g.beginPath();
      D.frontier.forEach((p, i) => (i ? g.lineTo(x(p[1]), y(p[column])) : g.moveTo(x(p[1]), y(p[column]))));
      g.stroke();
    };
    if (bounds.length === D.frontier.length) path(3, 'faint');
    path(2, 'kept');
    g.fillStyle = colour('hit'); g.beginPath(); g.arc(x(D.peak), y(D.seconds), 5, 0, 7); g.fill();
    g.fillStyle = colour('faint');
    g.fillText(bytes(lowX), 50, h - 10); g.fillText(bytes(highX), w - 90, h - 10);
    g.fillText((highY * 1e3).toPrecision(4) + ' ms', 4, 24); g.fillText((lowY * 1e3).toPrecision(4) + ' ms', 4, h - 34);
  }

  let pending = false;
  function draw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; drawArena(); drawProfile(); drawTasks(); drawFrontier(); });
  }

  function clamp(low, high, span, most) {
    span = Math.min(Math.max(span, most * 1e-7), most);
    low = Math.min(Math.max(low, 0), most - span);
    return [low, low + span];
  }
  function zoomTime(factor, at) {
    const t = view.t0 + at * (view.t1 - view.t0), span = (view.t1 - view.t0) * factor;
    [view.t0, view.t1] = clamp(t - at * span, 0, span, total);
    draw();
  }
  function zoomAddress(factor, at) {
    const a = view.a0 + at * (view.a1 - view.a0), span = (view.a1 - view.a0) * factor;
    [view.a0, view.a1] = clamp(a - at * span, 0, span, arenaTop);
    draw();
  }
  function pan(dt, da) {
    [view.t0, view.t1] = clamp(view.t0 + dt, 0, view.t1 - view.t0, total);
    [view.a0, view.a1] = clamp(view.a0 + da, 0, view.a1 - view.a0, arenaTop);
    draw();
  }
  function all() { view.t0 = 0; view.t1 = total; view.a0 = 0; view.a1 = arenaTop; draw(); }

  // Lives by bucket of runs, so that a hover looks at a few of them only.
  const kBuckets = 512, bucketOf = (run) => Math.min(kBuckets - 1, Math.floor((run / Math.max(runs, 1)) * kBuckets));
  const buckets = Array.from({ length: kBuckets }, () => []);
  for (let l = 0; l < lives; l++) for (let k = bucketOf(D.life_first[l]); k <= bucketOf(D.life_last[l] - 1); k++) buckets[k].push(l);
  function runAt(t) {
    let low = 0, high = runs;
    while (high - low > 1) { const mid = (low + high) >> 1; if (time[mid] <= t) low = mid; else high = mid; }
    return low;
  }
  function lifeAt(t, a) {
    const r = runAt(t);
    return buckets[bucketOf(r)].find((l) => D.life_first[l] <= r && r < D.life_last[l] && D.life_offset[l] >= 0 && D.life_offset[l] <= a && a < D.life_offset[l] + D.life_bytes[l]);
  }
  function describe(l) {
    const b = D.life_buffer[l], maker = b < 0 ? D.run_task[D.life_first[l]] : D.buffer_maker[b];
    const lines = [bufferName(b), bytes(D.life_bytes[l]) + ' at ' + D.life_offset[l], 'runs ' + D.life_first[l] + ' to ' + (D.life_last[l] - 1) + ' of ' + runs];
    if (maker >= 0) {
      lines.push((b < 0 ? 'for ' : 'made by ') + D.task_names[maker] + (D.task_kinds[maker] ? ' (' + D.task_kinds[maker] + ')' : ''));
      if (b >= 0) lines.push((again[l] ? 'made again here, ' : 'making it again would take ') + D.task_ms[maker].toPrecision(3) + ' ms');
    }
    return lines.join('\n');
  }
  const tip = byId('tip');
  function say(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + 'px';
  }
  const place = (event, canvas) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height, box];
  };

  const arena = byId('arena');
  let drag = null;
  arena.addEventListener('pointerdown', (e) => { drag = [e.clientX, e.clientY]; arena.setPointerCapture(e.pointerId); });
  arena.addEventListener('pointerup', () => { drag = null; });
  arena.addEventListener('pointermove', (e) => {
    const [fx, fy, box] = place(e, arena);
    if (drag) {
      pan(-((e.clientX - drag[0]) / box.width) * (view.t1 - view.t0), ((e.clientY - drag[1]) / box.height) * (view.a1 - view.a0));
      drag = [e.clientX, e.clientY];
      return say(e, '');
    }
    const l = lifeAt(view.t0 + fx * (view.t1 - view.t0), view.a0 + fy * (view.a1 - view.a0));
    say(e, l === undefined ? '' : describe(l));
  });
  arena.addEventListener('pointerleave', (e) => say(e, ''));
  arena.addEventListener('dblclick', all);
  arena.addEventListener('wheel', (e) => {
    e.preventDefault();
    const [fx, fy] = place(e, arena), factor = Math.exp((e.deltaY || e.deltaX) * 0.0015);
    if (e.shiftKey) zoomAddress(factor, fy); else zoomTime(factor, fx);
  }, { passive: false });
  for (const id of ['profile', 'tasks']) {
    const canvas = byId(id);
    canvas.addEventListener('pointermove', (e) => {
      const r = runAt(view.t0 + place(e, canvas)[0] * (view.t1 - view.t0)), t = D.run_task[r];
      if (t !== undefined) say(e, D.task_names[t] + (D.run_again[r] ? ' (again)' : '') + '\n' + bytes(D.run_live[r]) + ' live\n' + D.task_ms[t].toPrecision(3) + ' ms');
    });
    canvas.addEventListener('pointerleave', (e) => say(e, ''));
  }
  document.addEventListener('keydown', (e) => {
    const search = byId('search');
    if (e.key === '/' && document.activeElement !== search) { e.preventDefault(); search.focus(); return; }
    if (document.activeElement === search) { if (e.key === 'Escape') { search.value = ''; find(''); search.blur(); } return; }
    const dt = (view.t1 - view.t0) * 0.1, da = (view.a1 - view.a0) * 0.1;
    const act = { ArrowLeft: () => pan(-dt, 0), ArrowRight: () => pan(dt, 0), ArrowUp: () => pan(0, da), ArrowDown: () => pan(0, -da),
      '+': () => zoomTime(0.7, 0.5), '=': () => zoomTime(0.7, 0.5), '-': () => zoomTime(1.4, 0.5), '0': all }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  function find(text) {
    hits = new Set();
    const wanted = text.trim().toLowerCase();
    if (wanted) {
      for (let l = 0; l < lives; l++) {
        const b = D.life_buffer[l], maker = b < 0 ? -1 : D.buffer_maker[b];
        if (bufferName(b).toLowerCase().includes(wanted) || (maker >= 0 && D.task_names[maker].toLowerCase().includes(wanted))) hits.add(l);
      }
    }
    byId('found').textContent = wanted ? hits.size + ' found' : '';
    draw();
  }
  byId('search').addEventListener('input', (e) => find(e.target.value));

  // The two tables: who is live at the peak, and what recomputation costs.
  let peakRun = 0;
  for (let i = 1; i < runs; i++) if (D.run_live[i] > D.run_live[peakRun]) peakRun = i;
  function rows(id, list) {
    const table = byId(id);
    for (const cells of list) {
      const tr = table.insertRow();
      cells.forEach((c, i) => { const cell = document.createElement(i ? 'td' : 'th'); cell.textContent = c; tr.append(cell); });
    }
    if (!list.length) table.insertRow().insertCell().textContent = 'nothing';
  }
  const live = [];
  for (let l = 0; l < lives; l++) if (D.life_first[l] <= peakRun && peakRun < D.life_last[l]) live.push(l);
  live.sort((p, q) => D.life_bytes[q] - D.life_bytes[p]);
  rows('at-peak', live.slice(0, 20).map((l) => [bufferName(D.life_buffer[l]), bytes(D.life_bytes[l]), kind(l) === 'again' ? 'made again' : '']));
  const extra = new Map();
  D.run_again.forEach((a, i) => { if (a) extra.set(D.run_task[i], (extra.get(D.run_task[i]) || 0) + 1); });
  rows('recomputed', [...extra].sort((p, q) => q[1] * D.task_ms[q[0]] - p[1] * D.task_ms[p[0]]).slice(0, 20)
    .map(([t, n]) => [D.task_names[t], n + ' ×', (n * D.task_ms[t]).toPrecision(3) + ' ms']));

  window.addEventListener('resize', draw);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
})();
