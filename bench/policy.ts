/**
 * Measures the cost of rules. It judges a call by 1 to 10,000 rules and compares that with a plain linear scan of the
 * same documents. It also measures loading, and calls through the runtime with and without rules. Lanes are
 * interleaved, so that they share the load of the machine; compare columns of one run, not runs.
 */
import { createRuntime, defineTool } from 'quittance';
import type { LoadedContracts } from 'quittance/contracts';
import { contracts, contractsFromMultiple, contractsFromYamlString } from 'quittance/contracts';
import { createLinearScan } from './linear-scan.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 15 : 60;

/** No rule fires here: every rule is evaluated. */
const call = {
  toolName: 'search_files',
  input: {
    path: '/srv/files/reports/2024/summary.txt',
    command: 'grep -rn "quarterly figures" /srv/files/reports --include=*.txt',
    limit: 20,
    options: { follow: false, depth: 3 },
  },
};

type Kind = {
  readonly name: string;
  readonly rule: (n: number) => string;
  readonly counts: readonly number[];
  /** For rules about outputs. */
  readonly output?: unknown;
  /** For rules about more than the arguments. */
  readonly call?: typeof call;
};

const block = 'then: {action: block, message: no}';
const pre = (n: number, tool: string, when: string): string =>
  `{id: r${n}, type: pre, tool: "${tool}", when: ${when}, ${block}}`;
const contains = (n: number): string => `{args.command: {contains: "rm ${n}"}}`;
const post = (n: number, when: string): string =>
  `{id: r${n}, type: post, tool: search_files, when: ${when}, then: {action: redact, message: no}}`;

const line = 'A line of a report with nothing to hide, number 1234, "quoted", and some more of it.\n';
const ofSize = (bytes: number): unknown => ({
  ok: true,
  text: line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes),
});

const all = [1, 10, 100, 1_000, 10_000];
const upTo = (most: number): readonly number[] => all.filter((count) => count <= most);

const kinds: readonly Kind[] = [
  { name: 'same tool, contains', counts: all, rule: (n) => pre(n, 'search_files', contains(n)) },
  {
    name: 'same tool, matches',
    counts: upTo(1_000),
    rule: (n) => pre(n, 'search_files', `{args.command: {matches: '\\b(rm|dd) -[a-z]+ ${n}\\b'}}`),
  },
  {
    name: 'same tool, all/any/not',
    counts: all,
    rule: (n) =>
      pre(
        n,
        'search_files',
        `{all: [{args.limit: {gt: 5}}, {any: [{args.options.depth: {gt: ${n + 9}}}, {not: {tool.name: {equals: search_files}}}]}]}`,
      ),
  },
  { name: 'other tools', counts: all, rule: (n) => pre(n, `tool_${n}`, contains(n)) },
  { name: 'globs that match', counts: all, rule: (n) => pre(n, 'search_*', contains(n)) },
  { name: 'globs that do not', counts: all, rule: (n) => pre(n, `tool_${n}_*`, contains(n)) },
  {
    name: 'sandbox',
    counts: upTo(100),
    // The path alone: in a command line every word could be one.
    call: { ...call, input: { ...call.input, command: '/srv/files/bin/search' } },
    rule: (n) =>
      `{id: r${n}, type: sandbox, tool: search_files, within: [/srv/files, /srv/${n}], message: no}`,
  },
  {
    name: 'sandbox, files that exist',
    counts: upTo(100),
    call: { ...call, input: { ...call.input, path: import.meta.filename, command: import.meta.filename } },
    rule: (n) =>
      `{id: r${n}, type: sandbox, tool: search_files, within: ["${import.meta.dirname}"], message: no}`,
  },
  {
    name: 'post, contains, 1 kB',
    counts: upTo(1_000),
    rule: (n) => post(n, `{output.text: {contains: "secret ${n}"}}`),
    output: ofSize(1_000),
  },
  {
    name: 'post, contains, 1 MB',
    counts: upTo(10),
    rule: (n) => post(n, `{output.text: {contains: "secret ${n}"}}`),
    output: ofSize(1_000_000),
  },
  {
    name: 'post, matches, 1 kB',
    counts: upTo(100),
    rule: (n) => post(n, `{output.text: {matches: 'sk-${n}-[a-z0-9]{20,}'}}`),
    output: ofSize(1_000),
  },
  {
    name: 'post, matches, 1 MB',
    counts: upTo(10),
    rule: (n) => post(n, `{output.text: {matches: 'sk-${n}-[a-z0-9]{20,}'}}`),
    output: ofSize(1_000_000),
  },
  {
    name: 'post, class first, 1 MB',
    counts: [1],
    rule: (n) => post(n, `{output.text: {matches: '\\b[A-Z0-9]{16}-${n}[0-9]{3}\\b'}}`),
    output: ofSize(1_000_000),
  },
];

/** A document is limited to 1 MiB, which 10,000 rules exceed. */
const rulesPerDocument = 2_500;

function write(kind: Kind, count: number): readonly string[] {
  const texts: string[] = [];
  for (let from = 0; from < count; from += rulesPerDocument) {
    const rules = Array.from({ length: Math.min(rulesPerDocument, count - from) }, (_, n) =>
      kind.rule(from + n),
    );
    texts.push(
      `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: bench-${from}}\ndefaults: {mode: enforce}\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`,
    );
  }
  return texts;
}

function load(texts: readonly string[]): LoadedContracts {
  const loaded = texts.map((text) => contractsFromYamlString(text));
  return loaded.length === 1 ? (loaded[0] as LoadedContracts) : contractsFromMultiple(loaded);
}

/** Called repeatedly; its result is used, so that it cannot be optimised away. */
type Lane = () => unknown;

const median = (samples: readonly number[]): number =>
  samples.toSorted((left, right) => left - right)[Math.floor(samples.length / 2)] ?? 0;

let seen: unknown;
function timeBatch(lane: Lane, size: number): number {
  const before = performance.now();
  for (let n = 0; n < size; n++) seen = lane();
  return ((performance.now() - before) * 1_000) / size;
}

/** As many calls as take about half a millisecond: longer than the resolution of the clock. */
function sizeOf(lane: Lane): number {
  const until = performance.now() + (quick ? 15 : 40);
  let size = 1;
  while (performance.now() < until) {
    const us = timeBatch(lane, size);
    size = Math.max(1, Math.min(10_000, Math.round(500 / Math.max(us, 0.01))));
  }
  return size;
}

/** Microseconds of one call in each lane: the median of interleaved rounds. */
function timeLanes(lanes: readonly Lane[]): readonly number[] {
  const sizes = lanes.map(sizeOf);
  const samples: number[][] = lanes.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, lane] of lanes.entries())
      samples[index]?.push(timeBatch(lane, sizes[index] as number));
  return samples.map(median);
}

type Row = {
  readonly kind: string;
  readonly count: number;
  readonly oursUs: number;
  readonly scanUs: number;
  readonly noneUs: number;
  readonly loadMs: number;
  readonly parseMs: number;
};

/** Loading is timed on new texts, the best of a few: the first ones include the JIT compiler. */
function timeLoad(make: () => unknown, count: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < (count > 1_000 ? 2 : 4); run++) {
    const before = performance.now();
    seen = make();
    best = Math.min(best, performance.now() - before);
  }
  return best;
}

function measure(kind: Kind, count: number): Row {
  const texts = write(kind, count);
  const ours = load(texts);
  const none = contracts({ rules: [] });
  const scan = createLinearScan(texts);
  const { output, call: judged = call } = kind;
  const lanes: readonly Lane[] =
    output === undefined
      ? [() => ours.evaluate(judged), () => scan.before(judged), () => none.evaluate(judged)]
      : [
          () => ours.evaluateOutput(judged, { type: 'result', value: output as never }),
          () => scan.after(judged, output),
          () => none.evaluateOutput(judged, { type: 'result', value: output as never }),
        ];
  check(ours, lanes, kind.name);
  const [judge, scanAll, judgeByNone] = lanes as [Lane, Lane, Lane];
  // Separately: scanning ten thousand rules clears the processor's cache for other lanes.
  const [oursUs = 0, noneUs = 0] = timeLanes([judge, judgeByNone]);
  const [scanUs = 0] = timeLanes([scanAll]);
  const loadMs = timeLoad(() => load(texts), count);
  const parseMs = timeLoad(() => createLinearScan(texts), count);
  return { kind: kind.name, count, oursUs, scanUs, noneUs, loadMs, parseMs };
}

/** Rules that fire, or two implementations that disagree, would make the measurement invalid. */
function check(ours: LoadedContracts, lanes: readonly Lane[], name: string): void {
  const [judge, scan] = lanes as [Lane, Lane];
  const { decision } = judge() as { decision: string };
  if ((decision !== 'allow' && decision !== 'pass') || scan() !== 0)
    throw new Error(`The rules of "${name}" must not fire; ${ours.version} decides ${decision}.`);
}

const schema = {
  type: 'object',
  properties: { path: { type: 'string' }, command: { type: 'string' } },
} as const;
const tool = defineTool({
  name: call.toolName,
  input: schema,
  mode: 'read',
  loopLimit: 1_000_000_000,
  run: () => ({ ok: true, found: 3 }),
});

type RuntimeRow = {
  readonly name: string;
  readonly p50Us: number;
  readonly samples: readonly number[];
};

/** The same calls through all gates, on the memory ledger. */
async function throughRuntime(): Promise<readonly RuntimeRow[]> {
  const [same, , , others] = kinds as [Kind, Kind, Kind, Kind];
  const given: readonly (readonly [string, LoadedContracts | undefined])[] = [
    ['no contracts', undefined],
    ['contracts without a rule', contracts({ rules: [] })],
    ['10 matching rules', load(write(same, 10))],
    ['10,000 rules of other tools', load(write(others, 10_000))],
  ];
  const args = { path: call.input.path, command: call.input.command };
  let nextId = 0;
  const lanes = given.map(([name, loaded]) => {
    const runtime = createRuntime({ tools: [tool], ...(loaded !== undefined && { contracts: loaded }) });
    let turn = runtime.turn({ sessionId: 's' });
    let calls = 0;
    return {
      name,
      call: () => {
        if (++calls % 1_000 === 0) turn = runtime.turn({ sessionId: 's' });
        return turn.call({ id: `c${nextId++}`, name: tool.name, arguments: args });
      },
    };
  });
  const perRound = 250;
  const all = rounds * 3;
  const progress = createProgress('through the runtime', all);
  for (const lane of lanes) for (let n = 0; n < (quick ? 4_000 : 20_000); n++) await lane.call();
  const samples: number[][] = lanes.map(() => []);
  for (let round = 0; round < all; round++) {
    for (const [index, lane] of lanes.entries()) {
      for (let n = 0; n < perRound; n++) {
        const before = performance.now();
        await lane.call();
        samples[index]?.push((performance.now() - before) * 1_000);
      }
    }
    progress.step();
  }
  progress.done();
  return lanes.map(({ name }, index) => {
    const found = samples[index] ?? [];
    return { name, p50Us: median(found), samples: found };
  });
}

const us = (value: number): string => (value >= 1_000 ? value.toFixed(0) : value.toFixed(2));
const ratio = (value: number): string => value.toFixed(2);
const goal = (met: boolean): string => (met ? 'yes' : 'no');

async function main(): Promise<void> {
  const rows: Row[] = [];
  const total = kinds.reduce((sum, { counts }) => sum + counts.length, 0);
  const progress = createProgress('rules', total);
  for (const kind of kinds)
    for (const count of kind.counts) {
      rows.push(measure(kind, count));
      progress.step();
    }
  progress.done();
  printTable(
    [
      'one call, no rule fires',
      'rules',
      'ours µs',
      'linear scan µs',
      'scan / ours',
      'ours / no rules',
      'load ms',
      'yaml alone ms',
    ],
    rows.map(({ kind, count, oursUs, scanUs, noneUs, loadMs, parseMs }) => [
      kind,
      count.toLocaleString('en'),
      us(oursUs),
      us(scanUs),
      ratio(scanUs / oursUs),
      ratio(oursUs / noneUs),
      loadMs.toFixed(1),
      parseMs.toFixed(1),
    ]),
  );

  const runs = await throughRuntime();
  const [bare, empty, matching, others] = runs as [RuntimeRow, RuntimeRow, RuntimeRow, RuntimeRow];
  printTable(
    ['through the runtime', 'p50 µs', 'over no contracts, µs', 'to no contracts'],
    runs.map(({ name, p50Us }) => [name, us(p50Us), us(p50Us - bare.p50Us), ratio(p50Us / bare.p50Us)]),
  );

  const find = (kind: string, count: number): Row =>
    rows.find((row) => row.kind === kind && row.count === count) as Row;
  const ofOthers = find('other tools', 10_000);
  const globs = find('globs that do not', 10_000);
  const ten = find('same tool, contains', 10);
  const goals: readonly (readonly [string, number, number])[] = [
    ['10,000 rules of other tools, to no rules', ofOthers.oursUs / ofOthers.noneUs, 1.1],
    ['10,000 globs that do not match, to no rules', globs.oursUs / globs.noneUs, 1.1],
    ['10,000 rules of other tools through the runtime, to no rules', others.p50Us / empty.p50Us, 1.1],
    ['10,000 rules of other tools through the runtime, to no contracts', others.p50Us / bare.p50Us, 1.1],
    ['10 matching rules, µs', ten.oursUs, 10],
    ['10 matching rules through the runtime, µs over no contracts', matching.p50Us - bare.p50Us, 10],
  ];
  printTable(
    ['goal', 'found', 'at most', 'met'],
    goals.map(([name, found, most]) => [name, found.toFixed(2), String(most), goal(found <= most)]),
  );

  const figures = {
    bench: 'policy',
    node: process.version,
    others_10000_to_none: ofOthers.oursUs / ofOthers.noneUs,
    globs_10000_to_none: globs.oursUs / globs.noneUs,
    matching_10_us: ten.oursUs,
    runtime_none_p50_us: bare.p50Us,
    runtime_matching_10_p50_us: matching.p50Us,
    runtime_others_10000_p50_us: others.p50Us,
    runtime_others_10000_to_no_rules: others.p50Us / empty.p50Us,
    runtime_others_10000_to_no_contracts: others.p50Us / bare.p50Us,
    load_10000_ms: ofOthers.loadMs,
    goals_met: goals.every(([, found, most]) => found <= most),
    rows: rows.map(({ kind, count, oursUs, scanUs }) => [kind, count, oursUs, scanUs]),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  void seen;
}

await main();
