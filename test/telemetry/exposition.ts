/** Reads the text format of Prometheus strictly: https://prometheus.io/docs/instrumenting/exposition_formats/ */

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
export type Family = { readonly name: string; readonly type: string; readonly samples: readonly Sample[] };

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/** Throws if the page breaks the format. */
export function readExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('The last line must end.');
  const families = new Map<string, { name: string; type: string; samples: Sample[] }>();
  const seen = new Set<string>();
  let current: { name: string; type: string; samples: Sample[] } | undefined;
  let helped: string | undefined;
  for (const each of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(each) ?? [];
    if (kind === 'HELP') {
      helped = name;
      continue;
    }
    if (kind === 'TYPE') {
      if (helped !== name) throw new Error(`${name} has no HELP.`);
      if (families.has(name)) throw new Error(`${name} comes twice.`);
      current = { name, type: rest, samples: [] };
      families.set(name, current);
      continue;
    }
    const sample = readSample(each);
    const family =
      current?.type === 'histogram' ? sample.name.replace(/_(?:bucket|sum|count)$/, '') : sample.name;
    if (current === undefined || family !== current.name) throw new Error(`${each} is outside its family.`);
    const key = JSON.stringify([sample.name, sorted(sample.labels)]);
    if (seen.has(key)) throw new Error(`${each} comes twice.`);
    seen.add(key);
    current.samples.push(sample);
  }
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family);
  return families;
}

function readSample(text: string): Sample {
  const found = line.exec(text);
  if (found === null) throw new Error(`Not a sample: ${text}`);
  const [, name = '', inside, value = ''] = found;
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  while (inside !== undefined && label.lastIndex < inside.length) {
    const pair = label.exec(inside);
    if (pair === null) throw new Error(`Not labels: ${inside}`);
    labels[pair[1] ?? ''] = (pair[2] ?? '').replaceAll(/\\([\\"n])/g, (_, each: string) =>
      each === 'n' ? '\n' : each,
    );
  }
  if (!/^(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|NaN)$/.test(value)) throw new Error(`Not a number: ${text}`);
  return { name, labels, value: Number(value) };
}

/** Buckets grow, the last one is +Inf and equals the count. */
function checkHistogram({ name, samples }: Family): void {
  const series = Map.groupBy(samples, ({ labels }) => {
    const { le: _, ...rest } = labels;
    return JSON.stringify(sorted(rest));
  });
  for (const [labels, all] of series) {
    const buckets = all.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le } }) => Number(le === '+Inf' ? Infinity : le));
    const counts = buckets.map(({ value }) => value);
    const count = all.find((sample) => sample.name === `${name}_count`)?.value;
    const isGrowing = (values: readonly number[]): boolean =>
      values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
    if (!isGrowing(bounds) || new Set(bounds).size !== bounds.length || !isGrowing(counts))
      throw new Error(`${name}${labels} has buckets out of order: ${bounds.join(' ')}, ${counts.join(' ')}`);
    if (
      bounds.at(-1) !== Infinity ||
      counts.at(-1) !== count ||
      !all.some((sample) => sample.name === `${name}_sum`)
    )
      throw new Error(`${name}${labels} lacks its sum, its count or the bucket +Inf.`);
  }
}

const sorted = (labels: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1));
