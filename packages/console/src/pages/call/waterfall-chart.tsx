import type { ReactNode } from 'react';
import { useState } from 'react';
import type { CallEvent } from 'quittance/internal/call/event';
import { formatDuration, useServerNow } from '../../ui/time.tsx';
import { createCallScale } from './time-scale.ts';
import type { Bar } from './waterfall.ts';
import { toWaterfall } from './waterfall.ts';
import { ForeignText } from '../../ui/foreign-text.tsx';

/** Gates, waits and attempts as a table with bars. Screen readers get the numbers. */
export function WaterfallChart({ events }: { readonly events: readonly CallEvent[] }): ReactNode {
  const bars = toWaterfall(events);
  const isOpen = bars.some(({ ms }) => ms === undefined);
  const now = useServerNow(isOpen ? 1_000 : 60_000) - (events[0]?.at ?? 0);
  const scale = createCallScale(bars, now);
  const hasDecided = bars.some(({ kind, tone }) => kind === 'gate' && tone === 'bad');
  const [showsGates, setShowsGates] = useState(hasDecided);
  const gates = bars.filter(({ kind }) => kind === 'gate').length;
  const shown = showsGates ? bars : bars.filter(({ kind }) => kind !== 'gate');
  return (
    <>
      <table className="waterfall">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" className="num">
              Start
            </th>
            <th scope="col" className="num">
              Duration
            </th>
            <th scope="col" className="waterfall-time">
              Time
            </th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((bar, index) => {
            const from = scale.at(bar.from);
            const to = scale.at(bar.ms === undefined ? Math.max(now, bar.from) : bar.from + bar.ms);
            return (
              <tr key={index} data-kind={bar.kind} data-tone={bar.tone}>
                <th scope="row">{bar.name}</th>
                <td className="num">+{formatShort(bar.from)}</td>
                <td className="num">{tookOf(bar, now)}</td>
                <td className="waterfall-time" aria-hidden="true">
                  <span
                    className="bar"
                    data-open={bar.ms === undefined || undefined}
                    style={{
                      insetInlineStart: `${from * 100}%`,
                      width: bar.kind === 'moment' ? undefined : `${(to - from) * 100}%`,
                    }}
                  />
                </td>
                <td className="muted">
                  <ForeignText text={bar.note} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {gates > 0 && (
        <button
          type="button"
          className="link gates-switch"
          aria-expanded={showsGates}
          onClick={() => setShowsGates(!showsGates)}
        >
          {showsGates ? 'Hide the gates' : `Show the ${gates} gates`}
        </button>
      )}
      {scale.isBroken && <p className="muted waterfall-note">Waits are shortened in this chart.</p>}
    </>
  );
}

function tookOf({ kind, ms, from }: Bar, now: number): string {
  if (kind === 'moment') return '';
  if (ms === undefined) return `${formatDuration(Math.max(0, now - from))}…`;
  return kind === 'gate' && ms === 0 ? 'at once' : formatShort(ms);
}

/** Gates take microseconds. */
const formatShort = (ms: number): string =>
  ms > 0 && ms < 1 ? `${Math.round(ms * 1_000)} µs` : ms === 0 ? '0 ms' : formatDuration(ms);
