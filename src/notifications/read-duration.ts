import type { DocumentReader } from '../policy/read/document-reader.ts';

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration such as `90s`, `30m`, `2h` or `1d`, in milliseconds. */
export function readDuration(at: DocumentReader): number | undefined {
  const text = at.text({ pattern: /^[1-9]\d{0,5}[smhd]$/, patternWords: 'a duration such as 30m, 2h or 1d' });
  if (text === undefined) return undefined;
  const unit = text.slice(-1) as keyof typeof unitMs; // the pattern allows no other
  return Number(text.slice(0, -1)) * unitMs[unit];
}
