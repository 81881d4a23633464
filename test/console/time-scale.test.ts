import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSessionScale } from '../../packages/console/src/pages/sessions/time-scale.ts';
import type { TimelineSpan } from '../../packages/server/src/http/api/session.ts';

const span = (kind: TimelineSpan['kind'], from: number, to?: number): TimelineSpan => ({
  kind,
  from,
  to,
  attempt: 0,
});

describe('a time axis', () => {
  test('draws an hour of waiting no wider than the work around it', () => {
    const bars = [
      {
        spans: [
          span('deciding', 0, 100),
          span('held', 100, 3_600_100),
          span('running', 3_600_100, 3_600_200),
        ],
      },
    ];
    const squeezed = createSessionScale(bars, 9e9, { squeeze: true });
    expect(squeezed.at(100)).toBeCloseTo(0.25);
    expect(squeezed.at(3_600_100)).toBeCloseTo(0.75);
    expect(squeezed.stretches.filter((each) => each.squeezed)).toMatchObject([{ from: 100, to: 3_600_100 }]);
    const plain = createSessionScale(bars, 9e9, { squeeze: false });
    expect(plain.at(100)).toBeLessThan(0.001);
    expect(plain.stretches.some((each) => each.squeezed)).toBe(false);
  });

  test('leaves short pauses unchanged', () => {
    const bars = [{ spans: [span('running', 0, 80)] }, { spans: [span('running', 100, 200)] }];
    expect(createSessionScale(bars, 0, { squeeze: true }).at(100)).toBeCloseTo(0.5);
  });

  test('continues to now while something is open', () => {
    const scale = createSessionScale([{ spans: [span('running', 1_000)] }], 5_000, { squeeze: true });
    expect([scale.from, scale.to]).toEqual([1_000, 5_000]);
    // A clock behind the ledger's makes no negative lengths.
    expect(createSessionScale([{ spans: [span('running', 9_000)] }], 5_000, { squeeze: true }).to).toBe(
      9_000,
    );
  });

  test('is a point if nothing took time, and if there is nothing', () => {
    expect(createSessionScale([], 7, { squeeze: true })).toMatchObject({ from: 7, to: 7, stretches: [] });
    const instant = createSessionScale([{ spans: [span('deciding', 5, 5)] }], 7, { squeeze: true });
    expect(instant.at(5)).toBe(0);
    expect(instant.momentAt(0.5)).toBe(5);
  });

  test('never puts a later time further left, and every position has its time', () => {
    const kinds = fc.constantFrom<TimelineSpan['kind']>('deciding', 'held', 'waiting', 'running');
    const spans = fc
      .tuple(kinds, fc.nat(100_000), fc.nat(5_000))
      .map(([kind, from, length]) => span(kind, from, from + length));
    fc.assert(
      fc.property(
        fc.array(fc.record({ spans: fc.array(spans, { minLength: 1 }) })),
        fc.boolean(),
        (bars, squeeze) => {
          const scale = createSessionScale(bars, 0, { squeeze });
          const moments = bars.flatMap((bar) => bar.spans.flatMap((each) => [each.from, each.to ?? 0]));
          let last = -1;
          for (const moment of moments.toSorted((one, other) => one - other)) {
            const place = scale.at(moment);
            expect(place).toBeGreaterThanOrEqual(last - 1e-9);
            expect(place).toBeGreaterThanOrEqual(0);
            expect(place).toBeLessThanOrEqual(1 + 1e-9);
            last = place;
          }
          const idle = scale.stretches.filter((each) => each.squeezed);
          for (const each of idle) expect(each.end - each.start).toBeLessThanOrEqual(0.51);
        },
      ),
    );
  });
});
